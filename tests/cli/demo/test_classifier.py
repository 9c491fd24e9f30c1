from __future__ import annotations

import numpy as np

from penstock.cli.demo.classifier import Classifier


def test_the_classifier_learns_separable_classes():
    rng = np.random.default_rng(1)
    patterns = rng.integers(0, 256, (10, 8, 8, 1))
    labels = rng.integers(0, 10, 200)
    images = np.clip(patterns[labels] + rng.integers(-20, 21, (200, 8, 8, 1)), 0, 255).astype(np.uint8)
    classifier = Classifier(64)
    losses = [classifier.learn(images, labels, 0.05) for _ in range(60)]
    assert losses[-1] < 0.1 * losses[0]
    assert (classifier.predict(images) == labels).mean() > 0.99

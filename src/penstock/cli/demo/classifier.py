"""A small neural network in NumPy: one hidden layer, softmax, stochastic gradient descent with momentum."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

CLASSES = 10
MOMENTUM = 0.9


class Classifier:
    """A classifier that learns labels 0 to 9 from images of `pixels` values, a batch at a time."""

    def __init__(self, pixels: int, hidden: int = 64) -> None:
        rng = np.random.default_rng(0)
        self._weights = [
            rng.normal(0, np.sqrt(2 / pixels), (pixels, hidden)).astype(np.float32),
            np.zeros(hidden, np.float32),
            rng.normal(0, np.sqrt(2 / hidden), (hidden, CLASSES)).astype(np.float32),
            np.zeros(CLASSES, np.float32),
        ]
        self._speeds = [np.zeros_like(weight) for weight in self._weights]

    def learn(self, images: NDArray[np.uint8], labels: NDArray[np.int64], rate: float) -> float:
        """Take one step; return the mean cross-entropy of the batch, in nats, before it."""
        inputs = _scaled(images)
        hidden, chances = self._forward(inputs)
        each = np.arange(len(labels))
        loss = -np.log(chances[each, labels] + 1e-12).mean()
        errors = chances  # (batch, classes)
        errors[each, labels] -= 1
        errors /= len(labels)
        back = (errors @ self._weights[2].T) * (hidden > 0)  # (batch, hidden)
        gradients = [inputs.T @ back, back.sum(0), hidden.T @ errors, errors.sum(0)]
        for layer, gradient in enumerate(gradients):
            self._speeds[layer] *= MOMENTUM
            self._speeds[layer] -= rate * gradient
            self._weights[layer] += self._speeds[layer]
        return float(loss)

    def predict(self, images: NDArray[np.uint8]) -> NDArray[np.int64]:
        """Return the likeliest label of each image, shape (batch,)."""
        return self._forward(_scaled(images))[1].argmax(1)

    def _forward(self, inputs: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        hidden = np.maximum(inputs @ self._weights[0] + self._weights[1], 0)
        scores = hidden @ self._weights[2] + self._weights[3]
        scores -= scores.max(1, keepdims=True)
        chances = np.exp(scores)
        return hidden, chances / chances.sum(1, keepdims=True)


def _scaled(images: NDArray[np.uint8]) -> NDArray[np.float32]:
    """(batch, height, width, 1) of 0 to 255 -> (batch, pixels) of -0.5 to 0.5."""
    return images.reshape(len(images), -1).astype(np.float32) / np.float32(255) - np.float32(0.5)

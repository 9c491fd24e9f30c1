"""Train Keras on handwritten digits, on any backend: `KERAS_BACKEND=jax python examples/keras_digits.py`.

The first run stops within an epoch; the second continues after the last batch trained, and recognizes 95 % of the
digits held out. Predictions come with the ids of the digits.
"""

from __future__ import annotations

import json
import warnings

import keras
import numpy as np
from sklearn.datasets import load_digits

import penstock as ps

EPOCHS = 5
TRAINED = 1500  # digits; the others are held out


def digits() -> tuple[ps.Dataset, ps.Dataset]:
    """Return the digits to train with, shuffled and smudged, and those held out; elements are pixels, digit, id."""
    data = load_digits()
    pixels = data.data.astype(np.float32) / 16  # (1797, 64)
    ds = ps.Dataset.from_tensor_slices((pixels, data.target, np.arange(len(pixels))))
    ds = ds.shuffle(seed=0, reshuffle_each_iteration=False)  # one order, cut in two
    train = ds.take(TRAINED).shuffle().map(smudged, on=0).batch(32)
    return train.with_options(ps.Options(seed=1)), ds.skip(TRAINED).batch(64)


def smudged(pixels: np.ndarray, *, rng: np.random.Generator) -> np.ndarray:
    return pixels + rng.normal(0, 0.1, pixels.shape).astype(np.float32)


def network() -> keras.Model:
    keras.utils.set_random_seed(0)
    layers = keras.layers
    model = keras.Sequential([
        layers.Dense(128, activation="relu"),
        layers.Dense(128, activation="relu"),
        layers.Dense(10),
    ])  # fmt: skip
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(0.003), loss, metrics=["accuracy"])
    return model


class Interruption(keras.callbacks.Callback):
    """Ends a run as a machine that goes away would."""

    def on_train_batch_end(self, batch: int, logs: object = None) -> None:
        if batch == 20:
            raise KeyboardInterrupt


def main() -> None:
    train, held_out = digits()
    feed = train.to_keras(aside=2)  # ids stay here
    model = network()
    try:
        model.fit(feed, epochs=EPOCHS, verbose=0, callbacks=[feed.callback, Interruption()])
    except KeyboardInterrupt:
        saved = json.dumps(feed.state_dict())
        print(f"stopped in epoch {feed.epoch} after {json.loads(saved)['row']} batches; continuing")
    feed = digits()[0].to_keras(aside=2)
    feed.load_state_dict(json.loads(saved))
    warnings.filterwarnings("ignore", "Your input ran out of data")  # of the first epoch, which is the rest of one
    model.fit(feed, epochs=EPOCHS, initial_epoch=feed.epoch, verbose=0, callbacks=[feed.callback])
    print(feed.verdict())

    checked = held_out.to_keras(aside=2)
    found = model.predict(checked, verbose=0).argmax(-1)
    labels = load_digits().target[checked.aside]
    print(f"{keras.backend.backend()}: {(found == labels).mean():.1%} of {len(labels)} digits held out are recognized")
    print(f"ids of those that are not: {checked.aside[found != labels].tolist()}")


if __name__ == "__main__":
    main()

"""Run each epoch as one compiled call, on data that stays on the device: `python examples/jax_compiled_epochs.py`.

A network learns to remove noise from pieces of a photo, and is then tried on another photo, whose noise it reduces by
8 decibels. The pieces move to the device once; after that, an epoch needs only the numbers of their rows. Other noise
is drawn on the device for every batch.
"""

from __future__ import annotations

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import sklearn.datasets

import penstock as ps

SIDE, NOISE, EPOCHS, RATE = 8, 0.1, 7, 0.001
State = tuple[dict[str, jax.Array], ...]


def pieces(photo: str, stride: int) -> ps.Dataset:
    """Return the squares of a photo of scikit-learn, at every `stride`-th pixel, as uint8[SIDE * SIDE * 3]."""
    file = Path(sklearn.datasets.__file__).parent / "images" / photo
    pixels = ps.image.decode()(file.read_bytes())  # (height, width, 3)
    windows = np.lib.stride_tricks.sliding_window_view(pixels, (SIDE, SIDE), (0, 1))[::stride, ::stride]
    return ps.Dataset.from_tensor_slices(windows.transpose(0, 1, 3, 4, 2).reshape(-1, SIDE * SIDE * 3))


def centered(batch: jax.Array) -> jax.Array:
    return batch.astype(jnp.float32) / 255 - 0.5


def cleaned(parameters: dict[str, jax.Array], noisy: jax.Array) -> jax.Array:
    mean = noisy.reshape(-1, SIDE * SIDE, 3).mean(axis=1)  # of each color
    mean = jnp.tile(mean, SIDE * SIDE)
    hidden = jax.nn.relu((noisy - mean) @ parameters["in"] + parameters["bias"])
    return mean + hidden @ parameters["out"]


def error_of(parameters: dict[str, jax.Array], batch: jax.Array, key: jax.Array) -> jax.Array:
    noisy = batch + NOISE * jax.random.normal(key, batch.shape)
    return jnp.square(cleaned(parameters, noisy) - batch).mean()


def step(carry: tuple[State, jax.Array], batch: jax.Array) -> tuple[tuple[State, jax.Array], jax.Array]:
    """Take one step of Adam; the key of the noise is handed on from step to step, as the parameters are."""
    (parameters, means, squares), key = carry
    key, own = jax.random.split(key)
    error, slopes = jax.value_and_grad(error_of)(parameters, batch, own)
    means = jax.tree.map(lambda mean, slope: 0.9 * mean + 0.1 * slope, means, slopes)
    squares = jax.tree.map(lambda square, slope: 0.99 * square + 0.01 * slope**2, squares, slopes)
    parameters = jax.tree.map(
        lambda value, mean, square: value - RATE * mean / (jnp.sqrt(square) + 1e-8), parameters, means, squares
    )
    return ((parameters, means, squares), key), error


def decibels(error: float) -> float:
    return -10 * np.log10(error)


def main() -> None:
    device = jax.devices()[0]
    train = pieces("china.jpg", 6).shuffle(seed=0).batch(128, drop_remainder=True)
    resident = ps.feed.resident(train, device, finish=centered)
    print(f"{resident.nbytes / 1e6:.1f} MB on {device}, {len(resident)} steps an epoch")

    rng, size, hidden = np.random.default_rng(0), SIDE * SIDE * 3, 256
    layers = {"in": rng.normal(0, 0.1, (size, hidden)), "bias": np.zeros(hidden), "out": np.zeros((hidden, size))}
    parameters = {name: jnp.asarray(array, jnp.float32) for name, array in layers.items()}
    zeros = jax.tree.map(jnp.zeros_like, parameters)
    carry = (parameters, zeros, zeros), jax.random.key(0)
    for epoch in range(EPOCHS):
        carry, errors = resident.scan(step, carry)
        if epoch % 3 == 0:
            print(f"epoch {epoch}: {decibels(errors.mean()):.1f} dB")

    (parameters, *_), key = carry
    held_out = ps.feed.resident(pieces("flower.jpg", 12).batch(256), device, finish=centered)
    tried = jax.jit(error_of)
    with held_out.iterator() as batches:
        errors = [tried(parameters, batch, key) for batch in batches]
    print(f"flower.jpg: {decibels(NOISE**2):.1f} dB with noise, {decibels(np.mean(errors)):.1f} dB cleaned")
    print(f"trying it: {batches.verdict()}")


if __name__ == "__main__":
    main()

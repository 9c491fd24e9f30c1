"""A training step of a small ResNet in JAX."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import jax
from jax import lax
from jax import numpy as jnp

Array = jax.Array


def version() -> str:
    return jax.__version__


def placed(batch: dict[str, Any]) -> dict[str, jax.Array]:
    """Return NumPy arrays as arrays on the CPU, over the same memory if JAX can use it."""
    return jax.device_put(batch, jax.local_devices(backend="cpu")[0])


def unchanged(image: jax.Array) -> jax.Array:
    return image


class Training:
    """Take a step of gradient descent for each batch of images (k, size, size, 3) and labels (k,).

    `ready` casts and normalizes the images, as a part of the step. The network computes in the type of its result.
    """

    def __init__(
        self, platform: str, widths: Sequence[int], ready: Callable[[jax.Array], jax.Array] = unchanged
    ) -> None:
        device = jax.local_devices(backend=platform)[0]
        keys = iter(jax.random.split(jax.random.key(0), 20))

        def drawn(*shape: int) -> Any:
            return jax.device_put(jax.random.normal(next(keys), shape) * 0.05, device)

        blocks = [
            {"first": drawn(3, 3, a, b), "second": drawn(3, 3, b, b), "beside": drawn(1, 1, a, b)}
            for a, b in pairwise(widths)
        ]
        self.weights = {"stem": drawn(7, 7, 3, widths[0]), "blocks": blocks, "head": drawn(widths[-1], 100)}
        self.step = jax.jit(partial(stepped, ready), donate_argnums=0)

    def __call__(self, batch: dict[str, jax.Array]) -> None:
        self.weights = self.step(self.weights, batch)

    def wait(self) -> None:
        """Wait until all steps are done."""
        jax.block_until_ready(self.weights)


def stepped(ready: Callable[[jax.Array], jax.Array], weights: Any, batch: dict[str, jax.Array]) -> Any:
    grads = jax.grad(loss)(weights, ready(batch["image"]), batch["label"])
    return jax.tree.map(lambda weight, grad: weight - 1e-4 * grad, weights, grads)


def loss(weights: Any, image: jax.Array, label: jax.Array) -> jax.Array:
    x = normal(convolved(image, weights["stem"], 4))
    for block in weights["blocks"]:
        body = normal(convolved(jax.nn.relu(normal(convolved(x, block["first"], 2))), block["second"], 1))
        x = jax.nn.relu(body + convolved(x, block["beside"], 2))
    logits = x.mean((1, 2)).astype(jnp.float32) @ weights["head"]
    return -jax.nn.log_softmax(logits)[jnp.arange(len(logits)), label].mean()


def convolved(x: jax.Array, kernel: jax.Array, stride: int) -> jax.Array:
    layout = ("NHWC", "HWIO", "NHWC")
    return lax.conv_general_dilated(x, kernel.astype(x.dtype), (stride, stride), "SAME", dimension_numbers=layout)


def normal(x: jax.Array) -> jax.Array:
    return (x - x.mean((0, 1, 2))) * lax.rsqrt(x.var((0, 1, 2)) + 1e-3)

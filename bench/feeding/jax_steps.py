"""A small ResNet in JAX, fed by Penstock and by `device_put` one batch ahead."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import pairwise
from time import perf_counter
from typing import Any

import jax
import numpy as np
from jax import lax
from jax import numpy as jnp

import penstock as ps
from bench.feeding.work import Work, again, verdict_of
from penstock.elements.nested.structure import flatten, unflatten
from penstock.testing.feeds import verify_feed

WIDTHS = [64, 128, 256, 512]


def check(work: Work) -> tuple[dict[str, float], dict[str, float], str]:
    """Return the seconds of a step, the bytes a second of transfers, and the verdict of the feed."""
    device = jax.local_devices(backend="gpu" if work.device.startswith("cuda") else work.device)[0]
    for depth in (1, 2, 3):
        verify_feed(lambda ds, depth=depth: ds.to_jax(device, depth=depth), numpy_of)
    print("  the conformance suite passes", flush=True)
    training = Training(device)
    feed = work.dataset().to_jax(device)
    it = feed.iterator()
    sources = {
        "replayed": lambda: again(next(it)),
        "the feed": lambda: it,
        "resident data": lambda: iter(ps.feed.resident(work.dataset(), device)),
        "device_put, one batch ahead": lambda: put_ahead(work, device),
    }
    times = work.times(sources, training, lambda: jax.block_until_ready(training.weights))
    rates = (
        {} if device.platform == "cpu" else {"device_put": put_rate(work, device), "the feed": feed_rate(work, device)}
    )
    return times, rates, verdict_of(feed, training, work.steps)


class Training:
    """One step of gradient descent, cast and normalized on the device."""

    def __init__(self, device: Any) -> None:
        keys = iter(jax.random.split(jax.random.key(0), 20))

        def drawn(*shape: int) -> Any:
            return jax.device_put(jax.random.normal(next(keys), shape) * 0.05, device)

        blocks = [
            {"first": drawn(3, 3, a, b), "second": drawn(3, 3, b, b), "beside": drawn(1, 1, a, b)}
            for a, b in pairwise(WIDTHS)
        ]
        self.weights = {"stem": drawn(7, 7, 3, WIDTHS[0]), "blocks": blocks, "head": drawn(WIDTHS[-1], 100)}
        self.step = jax.jit(stepped, donate_argnums=0)

    def __call__(self, batch: dict[str, Any]) -> None:
        self.weights = self.step(self.weights, batch)


def stepped(weights: Any, batch: dict[str, Any]) -> Any:
    grads = jax.grad(loss)(weights, batch)
    return jax.tree.map(lambda weight, grad: weight - 1e-4 * grad, weights, grads)


def loss(weights: Any, batch: dict[str, Any]) -> Any:
    x = (batch["image"].astype(jnp.bfloat16) - 127) / 64
    x = normal(convolved(x, weights["stem"], 4))
    for block in weights["blocks"]:
        body = normal(convolved(jax.nn.relu(normal(convolved(x, block["first"], 2))), block["second"], 1))
        x = jax.nn.relu(body + convolved(x, block["beside"], 2))
    logits = x.mean((1, 2)).astype(jnp.float32) @ weights["head"]
    return -jax.nn.log_softmax(logits)[jnp.arange(len(logits)), batch["label"]].mean()


def convolved(x: Any, kernel: Any, stride: int) -> Any:
    layout = ("NHWC", "HWIO", "NHWC")
    return lax.conv_general_dilated(x, kernel.astype(x.dtype), (stride, stride), "SAME", dimension_numbers=layout)


def normal(x: Any) -> Any:
    return (x - x.mean((0, 1, 2))) * lax.rsqrt(x.var((0, 1, 2)) + 1e-3)


def put_ahead(work: Work, device: Any) -> Iterator[Any]:
    ahead: deque[Any] = deque()
    for batch in work.dataset():
        ahead.append(jax.device_put(batch, device))
        if len(ahead) > 1:
            yield ahead.popleft()


def put_rate(work: Work, device: Any) -> float:
    """Return the bytes a second of `device_put`, one batch after another."""
    batch = {name: array[: work.batch].copy() for name, array in work.data.items()}
    return rate(work, lambda: jax.device_put(batch, device))


def feed_rate(work: Work, device: Any) -> float:
    with work.dataset().to_jax(device, depth=1).iterator() as it:
        return rate(work, lambda: next(it))


def rate(work: Work, moved: Any) -> float:
    seconds = []
    for _ in range(30):
        began = perf_counter()
        jax.block_until_ready(moved())
        seconds.append(perf_counter() - began)
    return work.batch_bytes / float(np.median(seconds))


def numpy_of(batch: Any) -> Any:
    def one(leaf: Any) -> Any:
        if hasattr(leaf, "n_sparse"):
            return ps.Sparse.from_jax(leaf)
        if isinstance(leaf, ps.Ragged):
            return ps.Ragged(np.asarray(leaf.flat_values), np.asarray(leaf.row_splits))
        return np.asarray(leaf) if isinstance(leaf, jax.Array) else leaf

    leaves, structure = flatten(batch)
    return unflatten(structure, list(map(one, leaves)))

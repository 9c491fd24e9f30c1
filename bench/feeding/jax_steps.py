"""A small ResNet in JAX, fed by Penstock and by `device_put` one batch ahead."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from time import perf_counter
from typing import Any

import jax
import numpy as np
from jax import numpy as jnp

import penstock as ps
from bench.feeding.jax_training import Training
from bench.feeding.work import WIDTHS, Work, again, verdict_of
from penstock.elements.nested.structure import flatten, unflatten
from penstock.testing.feeds import verify_feed


def check(work: Work) -> tuple[dict[str, float], dict[str, float], str]:
    """Return the seconds of a step, the bytes a second of transfers, and the verdict of the feed."""
    device = jax.local_devices(backend="gpu" if work.device.startswith("cuda") else work.device)[0]
    for depth in (1, 2, 3):
        verify_feed(lambda ds, depth=depth: ds.to_jax(device, depth=depth), numpy_of)
    print("  the conformance suite passes", flush=True)
    training = Training(device.platform, WIDTHS, normalized)
    feed = work.dataset().to_jax(device)
    it = feed.iterator()
    sources = {
        "replayed": lambda: again(next(it)),
        "the feed": lambda: it,
        "resident data": lambda: iter(ps.feed.resident(work.dataset(), device)),
        "device_put, one batch ahead": lambda: put_ahead(work, device),
    }
    times = work.times(sources, training, training.wait)
    rates = (
        {} if device.platform == "cpu" else {"device_put": put_rate(work, device), "the feed": feed_rate(work, device)}
    )
    return times, rates, verdict_of(feed, training, work.steps)


def normalized(image: jax.Array) -> jax.Array:
    return (image.astype(jnp.bfloat16) - 127) / 64


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

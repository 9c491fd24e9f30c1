"""The work that is measured: images in memory, and rounds of steps with one source of batches after another."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

import penstock as ps

WARM_UP = 5  # steps
WIDTHS = (64, 128, 256, 512)  # channels of the network


@dataclass(frozen=True)
class Work:
    device: str
    batch: int
    size: int
    images: int
    steps: int
    rounds: int
    workers: int
    flip: bool = False

    @cached_property
    def data(self) -> dict[str, np.ndarray]:
        rng = np.random.default_rng(0)
        return {
            "image": rng.integers(0, 256, (self.images, self.size, self.size, 3), np.uint8),
            "label": rng.integers(0, 100, self.images).astype(np.int32),
        }

    def dataset(self) -> ps.Dataset:
        """Return shuffled batches of images, flipped on the CPU with `flip`, without end."""
        ds = ps.Dataset.from_tensor_slices(self.data).shuffle(seed=0)
        ds = ds.map(flipped) if self.flip else ds
        return ds.batch(self.batch, drop_remainder=True).repeat()

    @property
    def batch_bytes(self) -> int:
        return self.batch * (self.size * self.size * 3 + 4)

    def times(self, sources: dict[str, Callable[[], Iterator[Any]]], step: Callable[[Any], None], wait) -> dict:
        """Return the median seconds of a step with each source of batches, the sources in turn in every round.

        The last source is a peer's, whose processes go on loading for a while: it has rounds of its own, at the end.
        """
        *ours, peer = sources
        return {
            **self._in_turn({name: sources[name] for name in ours}, step, wait),
            **self._in_turn({peer: sources[peer]}, step, wait),
        }

    def _in_turn(self, sources: dict[str, Callable[[], Iterator[Any]]], step: Callable[[Any], None], wait) -> dict:
        found: dict[str, list[float]] = {name: [] for name in sources}
        opened = {name: source() for name, source in sources.items()}
        for number in range(self.rounds + 1):
            for name, batches in opened.items():
                steps = self.steps if number else WARM_UP
                wait()
                began = perf_counter()
                for _ in range(steps):
                    step(next(batches))
                wait()
                if number:
                    found[name].append((perf_counter() - began) / steps)
        for batches in opened.values():
            if hasattr(batches, "close"):
                batches.close()
        return {name: median(seconds) for name, seconds in found.items()}


def flipped(element: dict[str, Any]) -> dict[str, Any]:
    return {"image": element["image"][:, ::-1], "label": element["label"]}


def again(batch: Any) -> Iterator[Any]:
    while True:
        yield batch


def verdict_of(feed: Any, step: Callable[[Any], None], steps: int) -> str:
    """Return the verdict of a pass in which nothing runs but the steps."""
    with feed.iterator() as it:
        for _ in range(steps):
            step(next(it))
        return it.verdict()

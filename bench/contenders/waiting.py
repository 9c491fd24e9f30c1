"""The two waits of `overlap`, precise to some microseconds, and the training loop around them."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

import numpy as np

from bench.tally import Tally


def wait(seconds: float) -> None:
    """Wait off the CPU; the last 0.2 ms are waited out in steps, since a long sleep oversleeps by 0.1 ms."""
    until = time.perf_counter() + seconds
    time.sleep(max(seconds - 0.0002, 0.0))
    while time.perf_counter() < until:
        time.sleep(0)


class Prepare:
    """Batch i: waits its time, returns its number as an array. Picklable, as worker processes need it."""

    def __init__(self, options: dict[str, Any]) -> None:
        draws = np.random.default_rng(0).uniform(-1, 1, size=options["steps"])
        timed = draws[options["first"] :]
        self.seconds = options["prepare"] * (1 + options["jitter"] * (draws - timed.mean()))  # their mean is exact

    def __call__(self, i: Any) -> np.ndarray:
        wait(float(self.seconds[int(i)]))
        return np.full(1, i, dtype=np.int64)


def train(batches: Iterable[Any], options: dict[str, Any], tally: Tally) -> None:
    """Step through the batches; the clock starts when batch `first` arrives, so that starting up is not counted."""
    for i, batch in enumerate(batches):
        if i == options["first"]:
            tally.start()
        wait(options["step"])
        tally.add(batch, batch)

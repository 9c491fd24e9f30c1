"""The two waits of `overlap`, precise to a few microseconds, and the training loop around them."""

from __future__ import annotations

import time
from collections.abc import Iterable
from ctypes import CDLL, c_double
from functools import cache
from typing import Any

import numpy as np

from bench.contenders.limit.compile import library
from bench.tally import Tally


def wait_until(moment: float) -> None:
    """Wait until `perf_counter` reads `moment`, off the core and without the GIL, as for a disk or an accelerator."""
    waits().wait_until(c_double(moment))


@cache
def waits() -> CDLL:
    """Return the native library that waits, from bench/limits/waits.cc."""
    return library("waits")


class Prepare:
    """Return batch i, its number as an array, once its time has passed in total. Picklable for worker processes."""

    def __init__(self, options: dict[str, Any]) -> None:
        draws = np.random.default_rng(0).uniform(-1, 1, size=options["steps"])
        timed = draws[options["first"] :]
        self.seconds = options["prepare"] * (1 + options["jitter"] * (draws - timed.mean()))  # an exact mean
        waits()  # before the clock starts

    def __call__(self, i: Any) -> np.ndarray:
        began = time.perf_counter()
        batch = np.full(1, i, dtype=np.int64)
        wait_until(began + float(self.seconds[int(i)]))
        return batch


def train(batches: Iterable[Any], options: dict[str, Any], tally: Tally) -> None:
    """Step through the batches; the clock starts when batch `first` arrives, so start-up time does not count."""
    for i, batch in enumerate(batches):
        if i == options["first"]:
            tally.start()
        began = time.perf_counter()
        tally.add(batch, batch)
        wait_until(began + options["step"])

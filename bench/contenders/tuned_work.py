"""The functions of `autotune`: each returns the number of its row, and costs a time of some kind."""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from bench.contenders.waiting import wait_until, waits

BLOCK = bytes(2 << 20)
MANY = 1 << 20  # numbers of 8 bytes


def tuned_work(options: dict[str, Any]) -> Callable[[Any], np.ndarray]:
    """Return a function of a row, of one `kind`: `cpu`, `gil`, `latency`, `bursty`, `memory` or `changing`."""
    kind, half = options["kind"], options["rows"] // 2
    if kind in KINDS:
        return KINDS[kind]
    waits()  # before the clock starts
    return partial(changing, half) if kind == "changing" else partial(waiting, bursts=kind == "bursty")


def computing(row: Any) -> np.ndarray:
    zlib.crc32(BLOCK)  # without the GIL
    return np.full(1, int(row), np.int64)


def holding_the_gil(row: Any) -> np.ndarray:
    total = 0
    for step in range(15_000):
        total += step & 3
    return np.full(1, int(row), np.int64)


def filling_memory(row: Any) -> np.ndarray:
    return np.full(MANY, int(row), np.int64)


def waiting(row: Any, *, bursts: bool = False) -> np.ndarray:
    milliseconds = (160 if int(row) % 16 == 0 else 16) if bursts else 20
    wait_until(time.perf_counter() + milliseconds / 1000)
    return np.full(1, int(row), np.int64)


def changing(half: int, row: Any) -> np.ndarray:
    return waiting(row) if int(row) < half else computing(row)


KINDS = {"cpu": computing, "gil": holding_the_gil, "memory": filling_memory}

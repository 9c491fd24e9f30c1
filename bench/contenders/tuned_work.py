"""The functions of `autotune`: each returns the number of its row, and costs a time of some kind."""

from __future__ import annotations

import time
import zlib
from typing import Any

import numpy as np

from bench.contenders.waiting import wait_until, waits

BLOCK = bytes(2 << 20)
MANY = 1 << 20  # numbers of 8 bytes


class TunedWork:
    """Work on a row, of one kind: `cpu`, `gil`, `latency`, `bursty`, `memory` or `changing`.

    It can be pickled for worker processes.
    """

    def __init__(self, options: dict[str, Any]) -> None:
        self.kind, self.rows = options["kind"], options["rows"]
        waits()  # before the clock starts

    def __call__(self, row: Any) -> np.ndarray:
        number = int(row)
        if self.kind == "cpu" or (self.kind == "changing" and number >= self.rows // 2):
            zlib.crc32(BLOCK)  # without the GIL
        elif self.kind == "memory":
            return np.full(MANY, number, np.int64)
        elif self.kind == "gil":
            total = 0
            for step in range(15_000):
                total += step & 3
        else:
            milliseconds = (160 if number % 16 == 0 else 16) if self.kind == "bursty" else 20
            wait_until(time.perf_counter() + milliseconds / 1000)
        return np.full(1, number, np.int64)

"""The elements of `python`: pure Python work that holds the GIL, then an array that names its row."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np


class Labor:
    """Make the array of a row, `uint8[nbytes]`, after `steps` steps of Python."""

    def __init__(self, options: dict[str, Any]) -> None:
        self.steps, self.nbytes = options["steps"], options["nbytes"]

    def __call__(self, row: int) -> np.ndarray:
        total = 0
        for step in range(self.steps):
            total += step ^ total
        made = np.full(self.nbytes, total & 0x7F, np.uint8)
        made[:8] = np.frombuffer(int(row).to_bytes(8, "little"), np.uint8)
        return made

    def batch(self, rows: Iterable[int]) -> np.ndarray:
        """Return the arrays of `rows` as one new array, `uint8[k, nbytes]`."""
        rows = list(rows)
        made = np.empty((len(rows), self.nbytes), np.uint8)
        self.fill(made, rows)
        return made

    def fill(self, made: np.ndarray, rows: Iterable[int]) -> None:
        """Write the arrays of `rows` into `made`, `uint8[k, nbytes]`."""
        for at, row in enumerate(rows):
            made[at] = self(row)


def rows_of(batch: np.ndarray) -> np.ndarray:
    """Return the row numbers of a batch, `uint8[k, nbytes]`."""
    return np.ascontiguousarray(batch[:, :8]).view(np.int64)[:, 0]

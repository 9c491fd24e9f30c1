"""The elements of `python`: pure Python work that holds the GIL, then an array that names its row."""

from __future__ import annotations

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


def rows_of(batch: np.ndarray) -> np.ndarray:
    """Return the row numbers of a batch, `uint8[k, nbytes]`."""
    return np.ascontiguousarray(batch[:, :8]).view(np.int64)[:, 0]

"""The memory of batches: a pool that takes each block back when the consumer releases it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from penstock.kernels import Pool

SMALL = 1 << 12  # bytes; below, NumPy's own cache of small blocks is faster than a pool for requests from Python
MOST_IDLE = 1 << 28  # bytes kept for the next batches; a steady pipeline needs as many as it has in flight


class Memory:
    """An allocator of arrays for batches that recycles memory once an array and all its views are gone."""

    def __init__(self) -> None:
        self.pool = Pool(MOST_IDLE)

    def allocate(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
        """Return an array of this shape and dtype with arbitrary content."""
        if dtype.hasobject or math.prod(shape) * dtype.itemsize < SMALL:
            return np.empty(shape, dtype)
        return self.pool.empty(shape, dtype)

    @property
    def live_bytes(self) -> int:
        """The number of bytes in arrays that are still in use."""
        return self.pool.bytes_live

    @property
    def peak_bytes(self) -> int:
        """The largest number of bytes in use at the same time."""
        return self.pool.bytes_peak

    def after_fork(self) -> None:
        """Begin a new pool in a forked child, and leave the parent's alone."""
        self.pool = Pool(MOST_IDLE)

"""Where the memory of batches comes from: a pool that takes it back when the consumer lets go."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from penstock.kernels import Pool

SMALL = 1 << 12  # bytes; below, NumPy's own cache of small blocks is faster than a pool, where Python asks for memory
MOST_IDLE = 1 << 28  # bytes kept for the next batches; a steady pipeline needs as many as it has in flight


class Memory:
    """Fresh arrays for batches, recycled once an array and all its views are gone."""

    def __init__(self) -> None:
        self.pool = Pool(MOST_IDLE)

    def allocate(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
        """An array of this shape and dtype with arbitrary content."""
        if dtype.hasobject or math.prod(shape) * dtype.itemsize < SMALL:
            return np.empty(shape, dtype)
        return self.pool.empty(shape, dtype)

    @property
    def live_bytes(self) -> int:
        """Bytes in arrays that someone still holds."""
        return self.pool.bytes_live

    @property
    def peak_bytes(self) -> int:
        """The most bytes that were held at a time."""
        return self.pool.bytes_peak

    def after_fork(self) -> None:
        """In a forked child: leave the parent's pool alone and begin another."""
        self.pool = Pool(MOST_IDLE)

"""Rows of one rank: its part of each run of elements that make a global batch."""

from __future__ import annotations

import numpy as np

from penstock.core.arrays import Rows


def part_size(count: int, rank: int, world: int) -> int:
    """Return how many of `count` rows a rank has: the same number for all, or one more for the first ranks.

    >>> [part_size(8, rank, 3) for rank in range(3)]
    [3, 3, 2]
    """
    return (count - rank + world - 1) // world


def positions_of(count: int, rank: int, world: int, *, strided: bool) -> Rows:
    """Return a rank's positions within a batch of `count` rows: consecutive ones, or every `world`-th.

    >>> positions_of(8, 1, 3, strided=False).tolist(), positions_of(8, 1, 3, strided=True).tolist()
    ([3, 4, 5], [1, 4, 7])
    """
    size = part_size(count, rank, world)
    if strided:
        return np.arange(rank, rank + size * world, world, dtype=np.int64)
    low = _low(count, rank, world)
    return np.arange(low, low + size, dtype=np.int64)


def rows_of_part(
    rows: Rows, *, batch: int, length: int, input_stride: int, rank: int, world: int, strided: bool
) -> Rows:
    """Return the input's row of each row of a rank; shapes `(k,)`.

    The rank has `length` rows of an epoch, and the input `input_stride`, which is not a multiple of `batch` if the last
    batch is short.

    >>> own = rows_of_part(np.arange(4), batch=4, length=4, input_stride=8, rank=1, world=2, strided=True)
    >>> own.tolist()
    [1, 3, 5, 7]
    """
    size = part_size(batch, rank, world)
    epochs, positions = np.divmod(rows, length)
    steps, places = np.divmod(positions, size)
    if strided:
        own = rank + places * world
    else:
        lows = np.full(len(rows), _low(batch, rank, world), np.int64)
        full, rest = divmod(input_stride, batch)
        lows[steps == full] = _low(rest, rank, world)
        own = lows + places
    return epochs * input_stride + steps * batch + own


def _low(count: int, rank: int, world: int) -> int:
    """Return the first row of a rank that has consecutive ones."""
    return rank * (count // world) + min(rank, count % world)

"""Rows of `take`, `skip`, `shard` and slices: a start and a step within each epoch."""

from __future__ import annotations

from penstock.core.arrays import Rows
from penstock.index.epochs import check_last, one_epoch


def strided(rows: Rows, *, length: int, input_stride: int, start: int = 0, step: int = 1) -> Rows:
    """Return `epoch * input_stride + start + position * step` with `epoch, position = divmod(row, length)`; shapes `(k,)`.

    A negative `step` runs backwards. A row beyond what an int64 can count is an `OverflowError`.

    >>> import numpy as np
    >>> strided(np.arange(6), length=3, input_stride=10, start=1, step=3).tolist()
    [1, 4, 7, 11, 14, 17]
    """
    if not len(rows):
        return rows
    epoch = one_epoch(rows, length)
    if epoch is None:
        epochs, positions = rows // length, rows % length
        check_last(int(epochs.max()), input_stride)
        return epochs * input_stride + (positions * step + start)
    check_last(epoch, input_stride)
    offset = epoch * input_stride + start - epoch * length * step
    if step == 1:
        return rows if offset == 0 else rows + offset
    if abs(epoch * length * step) >= _LIMIT:
        return (rows - epoch * length) * step + (epoch * input_stride + start)
    return rows * step + offset


_LIMIT = 1 << 62

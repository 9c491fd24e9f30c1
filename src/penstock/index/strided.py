"""Rows of `take`, `skip`, `shard` and slices: a start and a step within each epoch."""

from __future__ import annotations

from penstock.core.arrays import Rows
from penstock.kernels import stride_rows


def strided(rows: Rows, *, length: int, input_stride: int, start: int = 0, step: int = 1) -> Rows:
    """Return `epoch * input_stride + start + position * step`, where `epoch, position = divmod(row, length)`.

    Shapes `(k,)`. A negative `step` runs backwards. A negative row raises a `ValueError`, a result outside `[0, 2**63)`
    an `OverflowError`.

    >>> import numpy as np
    >>> strided(np.arange(6), length=3, input_stride=10, start=1, step=3).tolist()
    [1, 4, 7, 11, 14, 17]
    """
    if not len(rows) or (length == input_stride and start == 0 and step == 1):
        return rows
    return stride_rows(rows, length, input_stride, start, step)

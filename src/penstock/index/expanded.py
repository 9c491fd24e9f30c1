"""Rows of `expand`: several rows for each row of the input."""

from __future__ import annotations

from penstock.core.arrays import Rows
from penstock.index.epochs import check_last, split


def expanded(rows: Rows, *, count: int, stride: int, input_stride: int) -> Rows:
    """Return the input's row of each row, where every row of the input becomes `count` rows next to each other.

    Shapes `(k,)`; epochs have `stride` rows, and those of the input `input_stride`. A negative row raises a
    `ValueError`.

    >>> import numpy as np
    >>> expanded(np.arange(6), count=3, stride=6, input_stride=2).tolist()
    [0, 0, 0, 1, 1, 1]
    """
    if not len(rows):
        return rows
    epochs, positions = split(rows, stride)
    check_last(epochs, input_stride)
    return epochs * input_stride + positions // count

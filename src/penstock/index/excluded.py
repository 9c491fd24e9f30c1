"""Rows of `exclude`: the positions between those that are left out."""

from __future__ import annotations

import numpy as np

from penstock.core.arrays import Rows
from penstock.index.epochs import check_last, split


def excluded(rows: Rows, *, positions: Rows, stride: int, input_stride: int) -> Rows:
    """Return the input's row of each row, where every epoch of the input lacks `positions`.

    `positions`, shape `(m,)`, are sorted and come once each; an epoch has `stride` rows, and one of the input
    `input_stride`. It takes memory for `m` numbers and time for a binary search in them. A negative row is a
    `ValueError`.

    >>> import numpy as np
    >>> excluded(np.arange(6), positions=np.array([0, 3]), stride=3, input_stride=5).tolist()
    [1, 2, 4, 6, 7, 9]
    """
    if not len(rows):
        return rows
    epochs, places = split(rows, stride)
    check_last(epochs, input_stride)
    kept_before = positions - np.arange(len(positions))  # how many elements that stay come before each left out
    return epochs * input_stride + places + np.searchsorted(kept_before, places, side="right")

"""Rows of `exclude`: the positions that are not left out."""

from __future__ import annotations

import numpy as np

from penstock.core.arrays import Rows
from penstock.index.epochs import check_last, split


def kept_before(positions: Rows) -> Rows:
    """Return the number of kept elements before each of the excluded `positions`, sorted and unique.

    >>> kept_before(np.array([0, 3, 4])).tolist()
    [0, 2, 2]
    """
    return positions - np.arange(len(positions))


def excluded(rows: Rows, *, kept: Rows, stride: int, input_stride: int) -> Rows:
    """Return the input's row of each row if m positions of every epoch are excluded; `kept_before` makes `kept`.

    An epoch has `stride` rows, and an epoch of the input `input_stride`. Each row takes a binary search in m numbers. A
    negative row raises a `ValueError`.

    >>> excluded(np.arange(6), kept=kept_before(np.array([0, 3])), stride=3, input_stride=5).tolist()
    [1, 2, 4, 6, 7, 9]
    """
    if not len(rows):
        return rows
    epochs, places = split(rows, stride)
    check_last(epochs, input_stride)
    return epochs * input_stride + places + np.searchsorted(kept, places, side="right")

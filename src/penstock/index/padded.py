"""Rows of datasets padded to a number of elements."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.core.arrays import Rows
from penstock.index.epochs import check_last, split


def padded(rows: Rows, *, length: int, stride: int, input_stride: int) -> tuple[Rows, NDArray[np.bool_]]:
    """Return the input's row of each row, and a mask of real rows; padding repeats the last element of the epoch.

    An epoch has `stride` rows, of which the first `length` are real; an epoch of the input has `input_stride`. Shapes
    `(k,)`. A negative row raises a `ValueError`.

    >>> its_rows, real = padded(np.arange(4), length=3, stride=4, input_stride=3)
    >>> its_rows.tolist(), real.tolist()
    ([0, 1, 2, 2], [True, True, True, False])
    """
    if not len(rows):
        return rows, np.zeros(0, np.bool_)
    epochs, positions = split(rows, stride)
    check_last(epochs, input_stride)
    return epochs * input_stride + np.minimum(positions, length - 1), positions < length

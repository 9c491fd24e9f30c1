"""Rows of `concatenate`: which of two inputs, and which row of it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.core.arrays import Rows
from penstock.index.epochs import check_last, one_epoch


def concatenated(
    rows: Rows, *, first: int, stride: int, first_stride: int, second_stride: int
) -> tuple[NDArray[np.bool_], Rows, Rows]:
    """Return which rows come from the first input, `bool[k]`, and the rows of the first and of the second input, in order.

    `first` is the number of the first input's elements in each epoch of `stride` rows; `first_stride` and `second_stride` are the
    rows that the inputs count to an epoch.

    >>> import numpy as np
    >>> mask, a, b = concatenated(np.arange(6), first=2, stride=3, first_stride=2, second_stride=1)
    >>> mask.tolist(), a.tolist(), b.tolist()
    ([True, True, False, True, True, False], [0, 1, 2, 3], [0, 1])
    """
    if not len(rows):
        return np.zeros(0, np.bool_), rows, rows
    epoch = one_epoch(rows, stride)
    if epoch is not None:
        check_last(epoch, max(first_stride, second_stride))
        positions = rows - epoch * stride
        mask = positions < first
        return mask, positions[mask] + epoch * first_stride, positions[~mask] + (epoch * second_stride - first)
    epochs, positions = rows // stride, rows % stride
    check_last(int(epochs.max()), max(first_stride, second_stride))
    mask = positions < first
    other = ~mask
    return (
        mask,
        epochs[mask] * first_stride + positions[mask],
        epochs[other] * second_stride + (positions[other] - first),
    )

"""Rows of `concatenate`: one of two inputs, and its row."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.core.arrays import Rows
from penstock.index.epochs import check_last, split


def concatenated(
    rows: Rows, *, first: int, stride: int, first_stride: int, second_stride: int
) -> tuple[NDArray[np.bool_], Rows, Rows]:
    """Return a mask of the rows from the first input, `bool[k]`, and the rows of the first and of the second input.

    Each epoch of `stride` rows begins with `first` elements of the first input; `first_stride` and `second_stride` are
    the inputs' rows for each epoch. Both results keep the order of `rows`. A negative row raises a `ValueError`, a
    result beyond 2**63 - 1 an `OverflowError`.

    >>> import numpy as np
    >>> mask, a, b = concatenated(np.arange(6), first=2, stride=3, first_stride=2, second_stride=1)
    >>> mask.tolist(), a.tolist(), b.tolist()
    ([True, True, False, True, True, False], [0, 1, 2, 3], [0, 1])
    """
    if not len(rows):
        return np.zeros(0, np.bool_), rows, rows
    epochs, positions = split(rows, stride)
    check_last(epochs, max(first_stride, second_stride))
    mask = positions < first
    other = ~mask
    of_first = (positions + epochs * first_stride)[mask]
    of_second = (positions + (epochs * second_stride - first))[other]
    return mask, of_first, of_second

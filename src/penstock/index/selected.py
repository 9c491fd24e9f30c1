"""Rows of a part with listed positions."""

from __future__ import annotations

from penstock.core.arrays import Rows
from penstock.index.epochs import check_last, split


def selected(rows: Rows, *, positions: Rows, input_stride: int) -> Rows:
    """Return the input's row of each row if an epoch consists of the input's `positions`, in that order.

    A negative row raises a `ValueError`.

    >>> import numpy as np
    >>> selected(np.arange(4), positions=np.array([1, 4]), input_stride=5).tolist()
    [1, 4, 6, 9]
    """
    if not len(rows):
        return rows
    epochs, places = split(rows, len(positions))
    check_last(epochs, input_stride)
    return epochs * input_stride + positions[places]

"""Epochs of global rows: `divmod` for large and small numbers of rows, usually with one division."""

from __future__ import annotations

import numpy as np

from penstock.core.arrays import Rows
from penstock.kernels import stride_rows

_LAST_ROW = (1 << 63) - 1


def split(rows: Rows, length: int) -> tuple[Rows | np.int64, Rows]:
    """Return the epoch and the position of each row, `int64[k]`; a single epoch number if it is the same for all.

    `rows` must not be empty. A negative row, or a row of an empty dataset, raises a `ValueError`.

    >>> split(np.array([3, 7]), length=3)
    (array([1, 2]), array([0, 1]))
    """
    if length < 1:
        raise ValueError(f"row {rows[0]} of a dataset of length {length}")
    low, high = int(rows.min()), int(rows.max())
    if low < 0:
        raise ValueError(f"row {low} is negative")
    epoch = low // length
    if high // length == epoch:
        return np.int64(epoch), rows - epoch * length
    epochs = rows // length
    return epochs, rows - epochs * length


def positions(rows: Rows, length: int) -> Rows:
    """Return the position of each row in its epoch, `int64[k]`. A negative row raises a `ValueError`.

    >>> positions(np.array([3, 7]), length=3)
    array([0, 1])
    """
    if not len(rows) or not length:
        return rows
    if len(rows) == 1 and 0 <= rows.item() < length:  # common for expensive elements: avoid array operations
        return rows
    return stride_rows(rows, length, 0, 0, 1)


def check_last(epochs: Rows | np.int64, stride: int) -> None:
    """Raise an `OverflowError` if the last epoch's rows, `stride` to an epoch, cannot be counted in an int64."""
    last = int(epochs.max())
    if (last + 1) * stride - 1 > _LAST_ROW:
        raise OverflowError(
            f"epoch {last} of an input with {stride} rows per epoch lies beyond row 2**63 - 1: "
            f"the dataset repeats more often than rows can be counted"
        )

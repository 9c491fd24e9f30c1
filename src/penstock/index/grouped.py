"""Rows of `batch`: the elements of each batch, and the batch of each element."""

from __future__ import annotations

from penstock.core.arrays import Rows
from penstock.index.epochs import check_last, split
from penstock.kernels import group_rows


def grouped(rows: Rows, *, size: int, batches: int, length: int, input_stride: int) -> tuple[Rows, Rows]:
    """Return the elements' rows of all batches, one batch after another, and the size of each, `int64[k]`.

    `size` elements make a batch and `batches` of them an epoch; `length` is the number of input elements of an epoch,
    so the last batch may be shorter; `input_stride` is the input's number of rows for each epoch. A negative row raises
    a `ValueError`, an element beyond row 2**63 - 1 an `OverflowError`.

    >>> import numpy as np
    >>> elements, counts = grouped(np.arange(2), size=3, batches=2, length=5, input_stride=5)
    >>> elements.tolist(), counts.tolist()
    ([0, 1, 2, 3, 4], [3, 2])
    """
    if not len(rows):
        return rows, rows
    return group_rows(rows, size, batches, length, input_stride)


def group_of(rows: Rows, *, size: int, batches: int, input_stride: int) -> tuple[Rows, Rows]:
    """Return the batch's row of each element's row, and its place in the batch: the inverse of `grouped`.

    Shapes `(k,)`. An element of no batch (a dropped remainder) raises a `ValueError`.

    >>> import numpy as np
    >>> batch, place = group_of(np.array([0, 4, 5]), size=3, batches=2, input_stride=5)
    >>> batch.tolist(), place.tolist()
    ([0, 1, 2], [0, 1, 0])
    """
    if not len(rows):
        return rows, rows
    epochs, positions = split(rows, input_stride)
    batch = positions // size
    if int(batch.max()) >= batches:
        dropped = rows[batch >= batches][0]
        raise ValueError(f"row {dropped} is in no batch: an epoch has {batches} batches of {size}")
    check_last(epochs, batches)
    return epochs * batches + batch, positions % size

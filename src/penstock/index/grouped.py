"""Rows of `unbatch`: the batch of each element."""

from __future__ import annotations

from penstock.core.arrays import Rows
from penstock.index.epochs import check_last, split


def group_of(rows: Rows, *, size: int, batches: int, input_stride: int) -> tuple[Rows, Rows]:
    """Return the batch's row of each element's row, and its place in the batch: the inverse of `kernels.group_rows`.

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

"""Rows of `batch`: the elements that make up each batch, and the batch that an element is in."""

from __future__ import annotations

import numpy as np

from penstock.core.arrays import Rows
from penstock.index.epochs import check_last, one_epoch


def grouped(rows: Rows, *, size: int, batches: int, length: int, input_stride: int) -> tuple[Rows, Rows]:
    """Return the elements' rows of all batches, one batch after another, and how many each has, `int64[k]`.

    `size` elements make a batch and `batches` of them an epoch; `length` is the number of input elements that an epoch has, so
    the last batch may be shorter; `input_stride` is what the input counts to an epoch.

    >>> import numpy as np
    >>> elements, counts = grouped(np.arange(2), size=3, batches=2, length=5, input_stride=5)
    >>> elements.tolist(), counts.tolist()
    ([0, 1, 2, 3, 4], [3, 2])
    """
    if not len(rows):
        return rows, rows
    epoch = one_epoch(rows, batches)
    if epoch is None:
        epochs, batch = rows // batches, rows % batches
        check_last(int(epochs.max()), input_stride)
        starts = epochs * input_stride + batch * size
        counts = np.minimum(length - batch * size, size)
    else:
        check_last(epoch, input_stride)
        batch = rows - epoch * batches
        starts = batch * size + epoch * input_stride
        if (int(batch.max()) + 1) * size <= length:  # every batch is full
            if len(rows) == 1:
                start = int(starts[0])
                return np.arange(start, start + size), np.array((size,))
            return (starts[:, None] + np.arange(size)).reshape(-1), np.full(len(rows), size)
        counts = np.minimum(length - batch * size, size)
    ends = np.cumsum(counts)
    return np.repeat(starts - (ends - counts), counts) + np.arange(ends[-1]), counts


def group_of(rows: Rows, *, size: int, batches: int, input_stride: int) -> tuple[Rows, Rows]:
    """Return the batch's row of each element's row, and its place in the batch: the inverse of `grouped`; shapes `(k,)`.

    An element that no batch holds (the remainder that is dropped) is a `ValueError`.

    >>> import numpy as np
    >>> batch, place = group_of(np.array([0, 4, 5]), size=3, batches=2, input_stride=5)
    >>> batch.tolist(), place.tolist()
    ([0, 1, 2], [0, 1, 0])
    """
    if not len(rows):
        return rows, rows
    epochs, positions = rows // input_stride, rows % input_stride
    batch = positions // size
    if int(batch.max()) >= batches:
        raise ValueError(f"row {rows[batch >= batches][0]} is in no batch: {batches} batches of {size} hold an epoch's elements")
    check_last(int(epochs.max()), batches)
    return epochs * batches + batch, positions % size

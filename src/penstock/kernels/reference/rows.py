"""Arithmetic on global rows in NumPy."""

from __future__ import annotations

import numpy as np

from penstock.core.arrays import Rows


def stride_rows(rows: Rows, length: int, input_stride: int, start: int, step: int) -> Rows:
    """Return `epoch * input_stride + start + position * step`, where `epoch, position = divmod(row, length)`."""
    epochs, positions = np.divmod(rows, length)
    return epochs * input_stride + start + positions * step


def group_sizes(rows: Rows, size: int, batches: int, length: int, input_stride: int) -> Rows:
    """Return the number of elements of each batch, `int64[k]`."""
    return group_rows(rows, size, batches, length, input_stride)[1]


def group_rows(rows: Rows, size: int, batches: int, length: int, input_stride: int) -> tuple[Rows, Rows]:
    """Return the rows of the elements of all batches, one batch after another, and the size of each, `int64[k]`."""
    epochs, batch = np.divmod(rows, batches)
    counts = np.clip(length - batch * size, 0, size)
    starts = epochs * input_stride + batch * size
    ends = np.cumsum(counts)
    return np.repeat(starts - (ends - counts), counts) + np.arange(counts.sum()), counts

"""Arithmetic on global rows in native code; `index` uses it, and `reference.rows` is the twin."""

from __future__ import annotations

import numpy as np

from penstock.core.arrays import Rows
from penstock.kernels import _native
from penstock.kernels.order import native_rows

_INT64 = np.dtype(np.int64)


def stride_rows(rows: Rows, length: int, input_stride: int, start: int, step: int) -> Rows:
    """Return `epoch * input_stride + start + position * step`, where `epoch, position = divmod(row, length)`.

    Shapes `(k,)`. A negative row raises a `ValueError`, a result outside `[0, 2**63)` an `OverflowError`.
    """
    rows = native_rows(rows)
    out = np.empty(len(rows), _INT64)
    _native.stride_rows(rows, out, length, input_stride, start, step)
    return out


def group_sizes(rows: Rows, size: int, batches: int, length: int, input_stride: int) -> Rows:
    """Return the number of elements of each batch, `int64[k]`, with the errors of `group_rows`."""
    counts = np.empty(len(rows), _INT64)
    _native.group_counts(native_rows(rows), counts, size, batches, length, input_stride)
    return counts


def group_rows(rows: Rows, size: int, batches: int, length: int, input_stride: int) -> tuple[Rows, Rows]:
    """Return the rows of the elements of all batches, one batch after another, and the size of each, `int64[k]`.

    A negative row raises a `ValueError`, an element beyond row 2**63 - 1 an `OverflowError`.
    """
    rows, counts = native_rows(rows), np.empty(len(rows), _INT64)
    elements = np.empty(_native.group_counts(rows, counts, size, batches, length, input_stride), _INT64)
    _native.group_elements(rows, elements, size, batches, length, input_stride)
    return elements, counts

"""Arithmetic on global rows, orders and row-keyed draws in native code.

`reference.rows`, `reference.permute` and `reference.random` are the twins.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.core.arrays import Rows
from penstock.kernels import _native

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
    """Return the elements' rows of all batches, one batch after another, and the size of each, `int64[k]`.

    `size` elements make a batch and `batches` of them an epoch; `length` is the number of input elements of an epoch,
    so the last batch may be shorter; `input_stride` is the input's number of rows for each epoch. A negative row raises
    a `ValueError`, an element beyond row 2**63 - 1 an `OverflowError`.

    >>> elements, counts = group_rows(np.arange(2), size=3, batches=2, length=5, input_stride=5)
    >>> elements.tolist(), counts.tolist()
    ([0, 1, 2, 3, 4], [3, 2])
    """
    rows, counts = native_rows(rows), np.empty(len(rows), _INT64)
    elements = np.empty(_native.group_counts(rows, counts, size, batches, length, input_stride), _INT64)
    _native.group_elements(rows, elements, size, batches, length, input_stride)
    return elements, counts


def permute(positions: Rows, length: int, key: int) -> Rows:
    """Return the place of each position in the order of `key` over `[0, length)`; shapes `(k,)`.

    The map is a bijection for every length up to 2**62, needs no memory, and its values are frozen. `key` is a 64-bit
    word. A position outside `[0, length)` raises a `ValueError`. The algorithm is described in
    `native/kernels/permute.h`.

    >>> sorted(permute(np.arange(5), 5, key=1).tolist())
    [0, 1, 2, 3, 4]
    """
    positions = native_rows(positions)
    out = np.empty(len(positions), _INT64)
    _native.permute(positions, out, length, key)
    return out


def unpermute(positions: Rows, length: int, key: int) -> Rows:
    """Return the inverse of `permute`: `unpermute(permute(x, n, key), n, key) == x`."""
    positions = native_rows(positions)
    out = np.empty(len(positions), _INT64)
    _native.unpermute(positions, out, length, key)
    return out


def permute_rows(rows: Rows, length: int, key: int, reshuffle: bool = True) -> Rows:
    """Permute global rows within their epochs of `length` rows; shapes `(k,)`.

    With `epoch, position = divmod(row, length)` a row becomes `epoch * length + permute(position, length, mix(mix(key,
    epoch), length))`; without `reshuffle` every epoch takes the key of epoch 0. The length is part of the key, so that
    one key gives unrelated orders to datasets of nearly equal lengths. A negative row raises a `ValueError`, a row
    whose epoch ends beyond 2**63 - 1 an `OverflowError`.
    """
    rows = native_rows(rows)
    out = np.empty(len(rows), _INT64)
    _native.permute_rows(rows, out, length, key, reshuffle)
    return out


def unpermute_rows(rows: Rows, length: int, key: int, reshuffle: bool = True) -> Rows:
    """Return the inverse of `permute_rows`."""
    rows = native_rows(rows)
    out = np.empty(len(rows), _INT64)
    _native.unpermute_rows(rows, out, length, key, reshuffle)
    return out


def permute_within(positions: Rows, length: int, window: int, key: int) -> Rows:
    """Return the positions that come at `positions` from a shuffle buffer of `window` elements; shapes `(k,)`.

    An element comes at most `1.5 * window` places earlier than before, and less than `6 * window` later. A window of 1
    is the identity; one of `length` or more is `permute(positions, length, key)`. The algorithm is described in
    `native/kernels/permute_buffer.h`.

    >>> moved = np.arange(1000) - permute_within(np.arange(1000), 1000, window=10, key=1)
    >>> bool(moved.min() > -15), bool(moved.max() < 60)
    (True, True)
    """
    positions = native_rows(positions)
    out = np.empty(len(positions), _INT64)
    _native.permute_within(positions, out, length, min(window, _WINDOW_LIMIT), key)
    return out


def permute_rows_within(rows: Rows, length: int, window: int, key: int, reshuffle: bool = True) -> Rows:
    """Apply `permute_within` to global rows within their epochs, keyed as in `permute_rows`."""
    rows = native_rows(rows)
    out = np.empty(len(rows), _INT64)
    _native.permute_rows_within(rows, out, length, min(window, _WINDOW_LIMIT), key, reshuffle)
    return out


def first_draws(key: int, rows: Rows) -> NDArray[np.uint64]:
    """Return for each row the first raw 64-bit draw of `core.seeds.row_generator(key, row)`; shapes `(k,)`."""
    rows = native_rows(rows)
    draws = np.empty(len(rows), np.uint64)
    _native.first_draws(key, rows, draws)
    return draws


_WINDOW_LIMIT = 1 << 62  # the largest length: a larger window means the same


def native_rows(rows: Rows) -> Rows:
    """Return `rows` in the form for native code: C-contiguous; raise a `TypeError` for any dtype but int64."""
    if rows.dtype is not _INT64 and rows.dtype != _INT64:
        raise TypeError(f"rows must be an array of int64, not of {rows.dtype}")
    return np.ascontiguousarray(rows)

"""Rows of `shuffle`: a keyed permutation of each epoch."""

from __future__ import annotations

from penstock.core.arrays import Rows
from penstock.kernels import permute_rows, permute_rows_within


def permuted(rows: Rows, *, length: int, key: int, window: int | None = None, reshuffle: bool = True) -> Rows:
    """Return the input's row of each row: its epoch's rows in an order chosen by `key` and, if `reshuffle`, the epoch.

    The length is part of the key. With a `window` the order is that of a shuffle buffer of that many elements; see
    `kernels.permute_within`. Shapes `(k,)`; a negative row raises a `ValueError`.

    >>> import numpy as np
    >>> sorted(permuted(np.arange(10, 20), length=10, key=1).tolist()) == list(range(10, 20))
    True
    """
    if not len(rows):
        return rows
    key &= _WORD
    if window is None or window >= length:
        return permute_rows(rows, length, key, reshuffle)
    return permute_rows_within(rows, length, window, key, reshuffle)


_WORD = (1 << 64) - 1

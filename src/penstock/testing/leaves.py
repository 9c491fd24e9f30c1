"""Leaves of every kind, and several of a kind, from which random pipelines are made."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.elements.ragged import Ragged
from penstock.elements.sparse import Sparse

LEAVES: tuple[Any, ...] = (
    *(np.int64(7), np.float32(0.5), np.bool_(True), np.arange(3, dtype=np.uint8), np.ones((2, 2)), "text", b"\x00b"),
    Ragged.from_rows([[1, 2], [], [3]]),
    Sparse.from_dense(np.array([0, 2, 0, 3], np.float32)),
)
"""One leaf of each kind."""


def rows_like(leaf: Any, count: int) -> Any:
    """Return different values of the leaf's kind: an array of shape (count, ...), of objects if they are texts.

    >>> rows_like(np.zeros(2), 2).tolist(), rows_like("ab", 3).tolist()
    ([[0.0, 1.0], [2.0, 3.0]], ['', 'ab', 'abab'])
    """
    if isinstance(leaf, Ragged | Sparse):
        return _uneven_rows(leaf, count)
    if isinstance(leaf, str | bytes):
        rows = np.empty(count, object)
        rows[:] = [leaf * (row % 3) for row in range(count)]
        return rows
    values = np.asarray(leaf)
    numbers = np.arange(count * values.size).reshape(count, *values.shape)
    return numbers.astype(values.dtype)


def _uneven_rows(leaf: Ragged | Sparse, count: int) -> Ragged | Sparse:
    rows = repeat_leaf(leaf, count + 1)[:count].owned()
    rows.arrays()[0][:] += np.arange(len(rows.arrays()[0])).astype(rows.dtype)
    return rows


def repeat_leaf(leaf: Any, count: int) -> Any:
    """Return the leaf `count` times, as in a batch.

    >>> repeat_leaf(3, 2).tolist(), repeat_leaf("a", 2).tolist()
    ([3, 3], ['a', 'a'])
    """
    if isinstance(leaf, Ragged):
        return Ragged.stack([leaf] * count)
    if isinstance(leaf, Sparse):
        return Sparse.stack([leaf] * count)
    whole = np.array([leaf], object) if isinstance(leaf, str | bytes) else np.asarray(leaf)[None]
    return np.repeat(whole, count, axis=0)

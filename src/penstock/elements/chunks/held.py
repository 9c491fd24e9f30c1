"""Elements held in numbered places, which are reused after elements leave."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeGuard, cast

import numpy as np
from numpy.typing import NDArray

from penstock.core.arrays import Rows
from penstock.elements.chunks.chunk import Chunk, Column, Columns, Items, values_in
from penstock.elements.ragged import Ragged


class HeldElements:
    """The elements of a chunk by position; the chunk must be a copy that nobody else holds.

    >>> held = HeldElements(Items(["a", "b", "c"]))
    >>> held.put(Items(["d"]), np.array([1]))
    >>> held.take(np.array([2, 1])).elements()
    ['c', 'd']
    """

    def __init__(self, chunk: Chunk) -> None:
        self._chunk = _own_columns(chunk) if isinstance(chunk, Columns) else Items(chunk.held())
        self._splits: dict[int, np.dtype[Any]] = {}  # per column that is a list of rows of `Ragged`

    def take(self, places: Rows) -> Chunk:
        """Return the elements at `places`, `int64[k]`; the elements stay there until others replace them."""
        chunk = self._chunk.select(places)
        if isinstance(chunk, Columns) and len(places):
            for number, dtype in self._splits.items():
                chunk.columns[number] = _ragged(cast("list[Any]", chunk.columns[number]), dtype)
        return chunk

    def put(self, chunk: Chunk, places: Rows) -> None:
        """Put the `k` elements of `chunk` at `places`, all different."""
        held = self._chunk
        if isinstance(held, Columns):
            if isinstance(chunk, Columns) and chunk.structure == held.structure:
                self._note_ragged(held.columns, chunk.columns)
                held.columns = [_put(old, new, places) for old, new in zip(held.columns, chunk.columns, strict=True)]
                return
            held = self._chunk = Items(list(held.elements()))
        _replace(held.values, chunk.held(), places)

    def clear(self, places: Rows) -> None:
        """Release the objects at `places`, which hold no elements until some are put there."""
        chunk = self._chunk
        for column in chunk.columns if isinstance(chunk, Columns) else [chunk.values]:
            if isinstance(column, list):
                _replace(column, [None] * len(places), places)
            elif isinstance(column, np.ndarray) and column.dtype == object:
                column[places] = None

    def _note_ragged(self, held: list[Column], columns: list[Column]) -> None:
        """Record which columns become lists of rows of `Ragged`, and which no longer are."""
        for number, (old, new) in enumerate(zip(held, columns, strict=True)):
            if isinstance(old, Ragged):
                self._splits[number] = old.row_splits.dtype
            if not isinstance(new, Ragged):
                self._splits.pop(number, None)


def _own_columns(chunk: Columns) -> Columns:
    """Return the elements in writeable arrays."""
    columns: list[Column] = [
        column.copy() if isinstance(column, np.ndarray) and not column.flags.writeable else column
        for column in chunk.columns
    ]
    return Columns(chunk.structure, columns, len(chunk))


def _ragged(rows: list[Any], splits: np.dtype[Any]) -> Ragged:
    """Return rows that came from a `Ragged` as one `Ragged` again."""
    if isinstance(rows[0], Ragged):
        return Ragged.stack(rows)
    return Ragged(np.concatenate(rows), np.cumsum([0, *map(len, rows)], dtype=splits))


def _put(held: Column, column: Column, places: Rows) -> Column:
    """Put the values at their places of a column; if they do not fit, return a list instead of the column."""
    if _fits(held, column):
        held[places] = column
        return held
    values = held if isinstance(held, list) else list(values_in(held))
    _replace(values, values_in(column), places)
    return values


def _fits(held: Column, column: Column) -> TypeGuard[NDArray[Any]]:
    """Return True if an array can hold the values of another unchanged."""
    if not isinstance(held, np.ndarray) or not isinstance(column, np.ndarray):
        return False
    return held.dtype == column.dtype and held.shape[1:] == column.shape[1:]


def _replace(held: list[Any], values: Iterable[Any], places: Rows) -> None:
    for place, value in zip(places.tolist(), values, strict=True):
        held[place] = value

"""Elements held in numbered places, where others take the places of those that left."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from penstock.core.arrays import Rows
from penstock.elements.chunk import Chunk, Column, Columns, Items, values_in


class Held:
    """The elements of a chunk, which it then owns, by their positions: the chunk is a copy that nobody else has.

    >>> held = Held(Items(["a", "b", "c"]))
    >>> held.put(Items(["d"]), np.array([1]))
    >>> held.take(np.array([2, 1])).elements()
    ['c', 'd']
    """

    def __init__(self, chunk: Chunk) -> None:
        self._chunk = chunk if isinstance(chunk, Columns) else Items(chunk.values)

    def take(self, places: Rows) -> Chunk:
        """Return the elements at `places`, `int64[k]`, which stay there until others are put in their places."""
        return self._chunk.select(places)

    def put(self, chunk: Chunk, places: Rows) -> None:
        """Put the `k` elements of `chunk` at `places`, all different."""
        held = self._chunk
        if isinstance(held, Columns):
            if isinstance(chunk, Columns) and chunk.structure == held.structure:
                held.columns = [_put(old, new, places) for old, new in zip(held.columns, chunk.columns, strict=True)]
                return
            held = self._chunk = Items(list(held.elements()))
        _replace(held.values, chunk.elements(), places)


def _put(held: Column, column: Column, places: Rows) -> Column:
    """Put the values at their places of a column, or of a list in its stead where they do not fit."""
    if _fits(held, column):
        held[places] = column
        return held
    values = held if isinstance(held, list) else list(values_in(held))
    _replace(values, values_in(column), places)
    return values


def _fits(held: Column, column: Column) -> TypeGuard[NDArray[Any]]:
    """Whether an array can take the values of another as they are."""
    if not isinstance(held, np.ndarray) or not isinstance(column, np.ndarray):
        return False
    return held.dtype == column.dtype and held.shape[1:] == column.shape[1:]


def _replace(held: list[Any], values: Iterable[Any], places: Rows) -> None:
    for place, value in zip(places.tolist(), values, strict=True):
        held[place] = value

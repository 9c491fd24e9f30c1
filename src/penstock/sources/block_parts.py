"""Assemble columns from rows in several blocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from penstock.core.arrays import Rows
from penstock.elements.chunks.chunk import Column
from penstock.elements.ragged import Ragged
from penstock.elements.spec import ArraySpec, LeafSpec, RaggedSpec
from penstock.kernels import gather, gather_several
from penstock.kernels.arrays import items_at


class Picks(NamedTuple):
    """Some rows of several blocks, block after block, and their places in the result."""

    cuts: list[int]  # the first of each block, and the end
    owners: Rows  # the number of the block of each row
    rows: Rows  # within its block
    places: Rows


class ColumnParts(Protocol):
    """One column assembled from rows of several blocks."""

    def put(self, columns: Sequence[Any], picks: Picks) -> None:
        """Store rows of blocks, given the column of each block."""
        ...

    def done(self) -> Column:
        """Return all rows."""
        ...


def column_parts(spec: LeafSpec, count: int, into: NDArray[Any] | None) -> ColumnParts:
    """Return an assembler for `count` rows of a column, in the given memory if it fits."""
    if isinstance(spec, ArraySpec) and spec.known:
        shape = (count, *(size or 0 for size in spec.shape))
        return ArrayParts(memory_for(shape, spec.dtype, into))
    return _RaggedParts() if isinstance(spec, RaggedSpec | ArraySpec) else _ListParts()


def memory_for(shape: tuple[int, ...], dtype: np.dtype[Any], into: NDArray[Any] | None) -> NDArray[Any]:
    """Return the given memory if it fits, else new memory."""
    if into is None or into.shape != shape or into.dtype != dtype:
        return np.empty(shape, dtype)
    return into


def picked(column: NDArray[Any], rows: Rows, into: NDArray[Any] | None) -> NDArray[Any]:
    """Return these rows, in the given memory if it fits."""
    return gather(column, rows, memory_for((len(rows), *column.shape[1:]), column.dtype, into))


def given(values: NDArray[Any], into: NDArray[Any] | None) -> NDArray[Any]:
    """Return the values, in the given memory if it fits."""
    if into is None or into.shape != values.shape or into.dtype != values.dtype:
        return values
    np.copyto(into, values)
    return into


class ArrayParts:
    """Rows of arrays, each copied to its place."""

    def __init__(self, values: NDArray[Any]) -> None:
        self.values = values

    def put(self, columns: Sequence[Any], picks: Picks) -> None:
        gather_several(columns, picks.owners, picks.rows, picks.places, self.values)

    def done(self) -> NDArray[Any]:
        return self.values


class _ListParts:
    """Rows as Python objects, in the order in which they come, until all have arrived."""

    def __init__(self) -> None:
        self._values: list[Any] = []
        self._places: list[Rows] = []

    def put(self, columns: Sequence[Any], picks: Picks) -> None:
        for column, low, high in zip(columns, picks.cuts, picks.cuts[1:], strict=False):
            self._values += self._taken(column, picks.rows[low:high])
        self._places.append(picks.places)

    def _taken(self, column: Any, rows: Rows) -> list[Any]:
        return column.take(rows)

    def done(self) -> Column:
        return cast("list[Any]", items_at(self._values, np.argsort(np.concatenate(self._places))))


class _RaggedParts(_ListParts):
    """Rows of lists: kept as views until all have arrived, then each value is copied once."""

    def _taken(self, column: Any, rows: Rows) -> list[Any]:
        values, splits = column.values, column.row_splits
        spans = zip(splits[rows].tolist(), splits[rows + 1].tolist(), strict=True)
        return [values[begin:end] for begin, end in spans]

    def done(self) -> Column:
        return Ragged.from_rows(cast("list[Any]", super().done()))

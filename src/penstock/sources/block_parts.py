"""Assemble columns from rows in several blocks."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from penstock.core.arrays import Rows
from penstock.elements.chunks.chunk import Column
from penstock.elements.ragged import Ragged
from penstock.elements.spec import ArraySpec, LeafSpec, RaggedSpec
from penstock.kernels import gather


class ColumnParts(Protocol):
    """One column assembled from rows of several blocks."""

    def put(self, column: Any, rows: Rows, low: int) -> None:
        """Store rows of a block in the places from `low` on in the run."""
        ...

    def done(self, back: Rows, into: NDArray[Any] | None) -> Column:
        """Return the rows at `back` of the run, in the given memory if it fits."""
        ...


def column_parts(spec: LeafSpec, count: int) -> ColumnParts:
    """Return an assembler for `count` rows of a column."""
    if isinstance(spec, ArraySpec) and spec.known:
        return _ArrayParts(spec, count)
    return _RaggedParts(count) if isinstance(spec, RaggedSpec | ArraySpec) else _ListParts(count)


def picked(column: NDArray[Any], rows: Rows, into: NDArray[Any] | None) -> NDArray[Any]:
    """Return these rows, in the given memory if it fits."""
    fits = into is not None and into.shape == (len(rows), *column.shape[1:]) and into.dtype == column.dtype
    return gather(column, rows, into if fits else None)


def given(values: NDArray[Any], into: NDArray[Any] | None) -> NDArray[Any]:
    """Return the values, in the given memory if it fits."""
    if into is None or into.shape != values.shape or into.dtype != values.dtype:
        return values
    np.copyto(into, values)
    return into


class _ArrayParts:
    def __init__(self, spec: ArraySpec, count: int) -> None:
        self.values = np.empty((count, *(size or 0 for size in spec.shape)), spec.dtype)

    def put(self, column: Any, rows: Rows, low: int) -> None:
        gather(column, rows, self.values[low : low + len(rows)])

    def done(self, back: Rows, into: NDArray[Any] | None) -> Column:
        return picked(self.values, back, into)


class _RaggedParts:
    """Rows of lists: kept as views until all have arrived, then each value is copied once."""

    def __init__(self, count: int) -> None:
        self.rows: list[Any] = [None] * count

    def put(self, column: Any, rows: Rows, low: int) -> None:
        values, splits = column.values, column.row_splits
        spans = zip(splits[rows].tolist(), splits[rows + 1].tolist(), strict=True)
        self.rows[low : low + len(rows)] = [values[begin:end] for begin, end in spans]

    def done(self, back: Rows, into: NDArray[Any] | None) -> Column:
        rows = self.rows
        return Ragged.from_rows([rows[i] for i in back.tolist()])


class _ListParts:
    def __init__(self, count: int) -> None:
        self.values: list[Any] = [None] * count

    def put(self, column: Any, rows: Rows, low: int) -> None:
        self.values[low : low + len(rows)] = column.take(rows)

    def done(self, back: Rows, into: NDArray[Any] | None) -> Column:
        values = self.values
        return [values[i] for i in back.tolist()]

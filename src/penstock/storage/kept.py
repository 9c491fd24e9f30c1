"""Elements kept in memory: a known number of rows in any order, or a stream from its beginning."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from penstock.core.arrays import Rows
from penstock.elements.chunks.chunk import Chunk, Column, Columns, Items, concat
from penstock.elements.chunks.sharing import gathered, sealed, with_sealed_arrays
from penstock.elements.footprint import memory_of
from penstock.elements.nested.structure import Structure

Grow: TypeAlias = Callable[[int, int], bool]
"""Return whether so many bytes more may be kept, beside a number of elements."""


def without_limit(nbytes: int, kept: int) -> bool:
    """Allow any number of bytes."""
    return True


class KeptRows:
    """The elements of some of `count` rows: columns of arrays if all have one shape and dtype, otherwise a list.

    Several threads may fill and read; a row put twice is the same both times. Rows that may not `grow` the memory are
    not kept.
    """

    def __init__(self, count: int, grow: Grow = without_limit) -> None:
        self._grow = grow
        self._count = 0  # of the rows kept
        self._have = np.zeros(count, np.bool_)
        self._structure: Structure | None = None
        self._columns: list[np.ndarray] | None = None
        self._items: list[Any] | None = None
        self._lock = threading.Lock()

    def missing(self, positions: Rows) -> Rows:
        """Return the missing ones of `positions`, each once."""
        return np.unique(positions[~self._have[positions]])

    def fetch(self, rows: Rows, make: Callable[[Rows], Chunk], out: list[np.ndarray] | None = None) -> Chunk:
        """Return the elements of all rows: in `out` if they fit, otherwise read-only; missing ones come from `make`."""
        missing = self.missing(rows)
        if len(missing):
            made = make(missing)
            if not self.put(missing, made):
                return self.among(rows, missing, made)
        return self.take(rows, out)

    def put(self, positions: Rows, chunk: Chunk) -> bool:
        """Keep the elements of a chunk, at `positions`, all different; return false if they may not be kept."""
        nbytes = memory_of(chunk)
        with self._lock:
            new = len(positions) - int(np.count_nonzero(self._have[positions]))
            if new and not self._grow(nbytes * new // len(positions), self._count):
                return False
            self._count += new
            if self._items is None and not self._put_columns(positions, chunk):
                self._leave_columns()
            if self._items is not None:
                for position, element in zip(positions.tolist(), sealed_chunk(chunk).held(), strict=True):
                    self._items[position] = element
            self._have[positions] = True
        return True

    def among(self, positions: Rows, missing: Rows, made: Chunk) -> Chunk:
        """Return the elements at `positions`, read-only: those `made` for the `missing` positions, the others kept.

        `missing` are some of the positions, each once, in ascending order.
        """
        new = sealed_chunk(made)
        if not np.array_equal(positions, missing):
            at = np.searchsorted(missing, positions).clip(max=len(missing) - 1)
            is_kept = missing[at] != positions
            whole = new if not is_kept.any() else concat([new, self.take(positions[is_kept])])
            new = whole.select(np.where(is_kept, len(missing) - 1 + np.cumsum(is_kept), at))
        return handed_out(new)

    def take(self, positions: Rows, out: list[np.ndarray] | None = None) -> Chunk:
        """Return the elements at `positions`, all present: in `out` if they fit, otherwise read-only."""
        with self._lock:
            columns, structure, items = self._columns, self._structure, self._items
        if columns is not None and structure is not None:
            memory = out if out is not None and len(out) == len(columns) else [None] * len(columns)
            made: list[Column] = [
                gathered(column, positions, into) for column, into in zip(columns, memory, strict=True)
            ]
            return Columns(structure, made, len(positions))
        return handed_out(Items([(items or [])[position] for position in positions.tolist()]))

    def _put_columns(self, positions: Rows, chunk: Chunk) -> bool:
        """Write the chunk's columns into the kept columns, if they are arrays that fit; return whether they do."""
        if not isinstance(chunk, Columns) or not all(isinstance(column, np.ndarray) for column in chunk.columns):
            return False
        arrays = [np.asarray(column) for column in chunk.columns]
        if any(array.dtype.hasobject for array in arrays):
            return False
        if self._columns is None:
            if self._have.any():
                return False
            self._structure = chunk.structure
            self._columns = [np.empty((len(self._have), *array.shape[1:]), array.dtype) for array in arrays]
        fits = self._structure is not None and repr(self._structure) == repr(chunk.structure)
        if not fits or any(
            array.dtype != column.dtype or array.shape[1:] != column.shape[1:]
            for array, column in zip(arrays, self._columns, strict=True)
        ):
            return False
        for array, column in zip(arrays, self._columns, strict=True):
            column[positions] = array
        return True

    def _leave_columns(self) -> None:
        """Convert the kept columns to a list of elements."""
        items: list[Any] = [None] * len(self._have)
        if self._columns is not None and self._structure is not None:
            here = np.flatnonzero(self._have)
            columns: list[Column] = [column[here] for column in self._columns]
            chunk = sealed_chunk(Columns(self._structure, columns, len(here)))
            for position, element in zip(here.tolist(), chunk.held(), strict=True):
                items[position] = element
        self._items, self._columns, self._structure = items, None, None


def sealed_chunk(chunk: Chunk) -> Chunk:
    """Return the elements in new containers, with read-only arrays, since every epoch returns them."""
    if isinstance(chunk, Columns):
        columns = [
            with_sealed_arrays(column) if isinstance(column, list) else sealed(column) for column in chunk.columns
        ]
        return Columns(chunk.structure, columns, len(chunk))
    return Items(with_sealed_arrays(chunk.elements()))


def handed_out(kept: Chunk) -> Chunk:
    """Return the elements of a sealed chunk, with copies of values that cannot be sealed, such as PyTorch tensors."""
    return Items(with_sealed_arrays(kept.values)) if isinstance(kept, Items) else kept


class KeptStream:
    """The first elements of a stream, as chunks, and the mark to continue from after them.

    Elements that may not `grow` the memory are not kept, nor any after them.
    """

    def __init__(self, grow: Grow = without_limit) -> None:
        self._grow = grow
        self.count = 0
        self.after: Any = None
        self.complete = False
        self._chunks: list[Chunk] = []
        self._ends: list[int] = []
        self._lock = threading.Lock()

    def nearest(self, at: int) -> tuple[int, Any]:
        """Return the number of elements, at most `at`, after which the input's mark is known, and the mark."""
        return (self.count, self.after) if self.count <= at else (0, None)

    def add(self, at: int, chunk: Chunk, after: Any, nbytes: int = 0) -> None:
        """Keep the elements of a sealed chunk, of `nbytes`, from position `at` on, if they are the next ones."""
        with self._lock:
            if at == self.count and not self.complete and self._grow(nbytes, self.count):
                self._chunks.append(chunk)
                self.count += len(chunk)
                self._ends.append(self.count)
                self.after = after

    def end(self, at: int) -> None:
        """Record that the stream has `at` elements."""
        with self._lock:
            self.complete = self.complete or at == self.count

    def from_here(self, at: int) -> Chunk:
        """Return some of the elements from position `at` on, which is present."""
        which = int(np.searchsorted(self._ends, at, side="right"))
        chunk = self._chunks[which]
        rest = chunk.slice(len(chunk) - (self._ends[which] - at), len(chunk))
        return handed_out(rest)

"""Elements kept in memory: rows of known number in any order, or a stream from its beginning on."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from penstock.core.arrays import Rows
from penstock.elements.chunk import Chunk, Column, Columns, Items
from penstock.elements.ragged import Ragged
from penstock.elements.sparse import Sparse
from penstock.elements.structure import Structure, flatten
from penstock.kernels import gather


class KeptRows:
    """The elements of some rows, of `count`: columns of arrays where all have one shape and dtype, else a list.

    It may be filled and read from several threads; a row that two of them put is the same both times.
    """

    def __init__(self, count: int) -> None:
        self._have = np.zeros(count, np.bool_)
        self._structure: Structure | None = None
        self._columns: list[np.ndarray] | None = None
        self._items: list[Any] | None = None
        self._lock = threading.Lock()

    def missing(self, positions: Rows) -> Rows:
        """Which of `positions` are not here, each once."""
        return np.unique(positions[~self._have[positions]])

    def put(self, positions: Rows, chunk: Chunk) -> None:
        """Keep the elements of a chunk, which are at `positions`."""
        with self._lock:
            if self._items is None and not self._put_columns(positions, chunk):
                self._leave_columns()
            if self._items is not None:
                for position, element in zip(positions.tolist(), _sealed(chunk), strict=True):
                    self._items[position] = element
            self._have[positions] = True

    def take(self, positions: Rows) -> Chunk:
        """The elements at `positions`, which are all here."""
        with self._lock:
            columns, structure, items = self._columns, self._structure, self._items
        if columns is not None and structure is not None:
            made: list[Column] = [gather(column, positions) for column in columns]
            return Columns(structure, made, len(positions))
        return Items([(items or [])[position] for position in positions.tolist()])

    def _put_columns(self, positions: Rows, chunk: Chunk) -> bool:
        """Write the chunk's columns into ours, if they are arrays that fit there."""
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
        """Go on with a list of elements."""
        items: list[Any] = [None] * len(self._have)
        if self._columns is not None and self._structure is not None:
            here = np.flatnonzero(self._have)
            columns: list[Column] = [column[here] for column in self._columns]
            for position, element in zip(
                here.tolist(), Columns(self._structure, columns, len(here)).elements(), strict=True
            ):
                items[position] = element
        self._items, self._columns, self._structure = items, None, None


def _sealed(chunk: Chunk) -> list[Any]:
    """The elements with arrays that cannot be written to: they are handed out in every epoch."""
    elements = chunk.elements()
    for element in elements:
        for leaf in flatten(element)[0]:
            for array in leaf.arrays() if isinstance(leaf, Ragged | Sparse) else [leaf]:
                if isinstance(array, np.ndarray):
                    array.flags.writeable = False
    return elements


class KeptStream:
    """The first elements of a stream, as chunks, and the mark to go on with after them."""

    def __init__(self) -> None:
        self.count = 0
        self.after: Any = None
        self.complete = False
        self._chunks: list[Chunk] = []
        self._ends: list[int] = []
        self._lock = threading.Lock()

    def add(self, at: int, chunk: Chunk, after: Any) -> None:
        """Keep the elements that come at `at`, if those before are here and they are not."""
        with self._lock:
            if at == self.count and not self.complete:
                self._chunks.append(chunk if isinstance(chunk, Columns) else Items(_sealed(chunk)))
                self.count += len(chunk)
                self._ends.append(self.count)
                self.after = after

    def end(self, at: int) -> None:
        """Note that the stream has `at` elements."""
        with self._lock:
            self.complete = self.complete or at == self.count

    def from_here(self, at: int) -> Chunk:
        """Some of the elements that come at `at`, which are here."""
        which = int(np.searchsorted(self._ends, at, side="right"))
        chunk = self._chunks[which]
        return chunk.slice(len(chunk) - (self._ends[which] - at), len(chunk))

"""Elements kept in memory: a known number of rows in any order, or a stream from its beginning."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from penstock.core.arrays import Rows
from penstock.elements.chunks.chunk import Chunk, Column, Columns, Items, concat
from penstock.elements.chunks.sharing import sealed, with_own_objects, with_sealed_arrays
from penstock.elements.chunks.uniform import UniformRow, fill_rows, forms_of_rows, in_columns, rows_of
from penstock.elements.footprint import memory_of
from penstock.elements.nested.structure import Structure
from penstock.kernels import Ahead, Pool, SideThread

_AT_A_TIME = 256  # kept elements of a stream that move together


class Permit(Protocol):
    """The memory that kept elements may take."""

    @property
    def room(self) -> int:
        """The bytes that may be kept in addition."""
        ...

    def grow(self, nbytes: int, /) -> bool:
        """Take `nbytes` more; return false, and take none, if there is not that much room."""
        ...

    def refuse(self, kept: int, /) -> None:
        """Note that no further elements are kept beside the `kept` ones."""
        ...


class MakeRows(Protocol):
    """Make the elements of some rows, each once, in any order; in `out` where they fit, if it is given."""

    def __call__(self, rows: Rows, out: list[NDArray[Any]] | None = None, /) -> Chunk: ...


class Overflow(Protocol):
    """Another place for rows, such as a disk, which takes those that memory has no room for."""

    def missing(self, rows: Rows, /) -> Rows: ...
    def read(self, rows: Rows, /) -> tuple[Chunk, NDArray[np.bool_]]: ...
    def write(self, rows: Rows, chunk: Chunk, /) -> int: ...
    def fetch(self, rows: Rows, make: MakeRows, /) -> Chunk: ...


class Unlimited:
    """The permit to keep everything."""

    room = 1 << 62

    def grow(self, nbytes: int) -> bool:
        """Allow any number of bytes."""
        return True

    def refuse(self, kept: int) -> None:
        """Do nothing: this is not called."""


class KeptRows:
    """The elements of some of `count` rows: an array for each leaf if that has the same elements, otherwise a list.

    Several threads may fill and read; a row put twice is the same both times. Rows that the `permit` has no room for
    go to the `overflow`, if there is one; from then on memory takes no more.

    Kept rows lie in memory in the order in which they came, so that few rows take few pages.
    """

    def __init__(self, count: int, permit: Permit | None = None, overflow: Overflow | None = None) -> None:
        self._permit = Unlimited() if permit is None else permit
        self._overflow = overflow
        self._is_full = False
        self._count = 0  # of the rows kept
        self._slots = np.zeros(count, np.uint32 if count < 1 << 32 else np.uint64)  # 1 + the place of a row; 0: none
        self._structure: Structure | None = None
        self._columns: list[np.ndarray] | None = None
        self._forms: list[UniformRow] = []
        self._items: list[Any] | None = None
        self._lock = threading.Lock()

    def missing(self, positions: Rows) -> Rows:
        """Return the missing ones of `positions`, each once."""
        absent = np.unique(positions[self._slots[positions] == 0])
        return absent if self._overflow is None or not len(absent) else self._overflow.missing(absent)

    @property
    def structure(self) -> Structure:
        """The structure of rows that are kept as arrays."""
        return cast("Structure", self._structure)

    @property
    def is_gatherable(self) -> bool:
        """True once all rows are kept as arrays, which then stay as they are."""
        return self._columns is not None and self._count == len(self._slots)

    def begin_reading(
        self, rows: Rows, batch: int, join: Callable[[list[NDArray[Any]]], Any], pool: Pool, side: SideThread
    ) -> Ahead | None:
        """Begin to gather batches in the background, if the rows are gatherable."""
        if not self.is_gatherable:
            return None
        places = np.subtract(self._slots[rows], 1, dtype=np.int64)
        return pool.gather_ahead(cast("list[np.ndarray]", self._columns), places, batch, join, side)

    def fetch(self, rows: Rows, make: MakeRows, out: list[np.ndarray] | None = None) -> Chunk:
        """Return the elements of all rows: in `out` if they fit, otherwise read-only; missing ones come from `make`."""
        slots = self._slots[rows]
        if slots.all():
            return self._taken(slots, out)
        absent = np.unique(rows[slots == 0])
        if self._overflow is not None and self._is_full:
            return self.among(rows, absent, self._overflow.fetch(absent, make))
        made = self._made(absent, make)
        return self.among(rows, absent, made) if (self._slots[absent] == 0).any() else self.take(rows, out)

    def put(self, positions: Rows, chunk: Chunk) -> NDArray[np.bool_]:
        """Keep elements of a chunk, at `positions`, all different, from the first on; return which are kept now."""
        with self._lock:
            new = self._slots[positions] == 0
            added, some = (positions, chunk) if new.all() else (positions[new], chunk.select(np.flatnonzero(new)))
            some, forms = self._in_columns(some)
            count, some = permitted(some, self._permit, self._count, forms)
            if count:
                if forms is None:
                    self._leave_columns()
                self._append(added[:count], some, forms)
            self._is_full = self._is_full or count < len(added)
            return self._slots[positions] != 0

    def close(self) -> None:
        """Send all further rows to the overflow."""
        self._is_full = True

    def among(self, positions: Rows, missing: Rows, made: Chunk) -> Chunk:
        """Return the elements at `positions`, read-only: those `made` for the `missing` positions, the others kept.

        `missing` are some of the positions, each once, in ascending order.
        """
        return handed_out(_merged(positions, missing, sealed_chunk(made), self.take))

    def take(self, positions: Rows, out: list[np.ndarray] | None = None) -> Chunk:
        """Return the elements at `positions`, all kept: in `out` if they fit, otherwise read-only."""
        return self._taken(self._slots[positions], out)

    def _taken(self, slots: NDArray[Any], out: list[np.ndarray] | None) -> Chunk:
        with self._lock:
            columns, structure, items = self._columns, self._structure, self._items
        places = np.subtract(slots, 1, dtype=np.int64)
        if columns is not None and structure is not None:
            memory = out if out is not None and len(out) == len(columns) else [None] * len(columns)
            made: list[Column] = [rows_of(column, places, into) for column, into in zip(columns, memory, strict=True)]
            return Columns(structure, made, len(places))
        return handed_out(Items([(items or [])[place] for place in places.tolist()]))

    def _made(self, absent: Rows, make: MakeRows) -> Chunk:
        """Return elements that memory lacks: made and kept, unless the overflow has them."""
        if self._overflow is None:
            made = make(absent)
            self.put(absent, made)
            return made
        there, found = self._overflow.read(absent)
        if found.all():
            return there
        wanted = absent[~found]
        made = sealed_chunk(make(wanted))
        kept = self.put(wanted, made)
        if not kept.all():
            self._overflow.write(wanted[~kept], made.select(np.flatnonzero(~kept)))
        return _merged(absent, wanted, made, lambda _: there)

    def _in_columns(self, chunk: Chunk) -> tuple[Chunk, list[UniformRow] | None]:
        """Return elements that fit the columns kept so far, if any, in columns, and the forms of these.

        Elements whose memory other objects keep begin a list: in columns they would take memory of their own.
        """
        if self._items is not None or (made := in_columns(chunk)) is None or (forms := forms_of_rows(made)) is None:
            return chunk, None
        if self._columns is None:
            is_copied = all(isinstance(column, np.ndarray) for column in made.columns)
            is_own = is_copied or memory_of(chunk) >= len(chunk) * sum(form.nbytes for form in forms)
        else:
            is_own = repr(self._structure) == repr(made.structure) and forms == self._forms
        return (made, forms) if is_own else (chunk, None)

    def _append(self, positions: Rows, chunk: Chunk, forms: list[UniformRow] | None) -> None:
        begin, end = self._count, self._count + len(positions)
        if self._items is not None:
            self._items.extend(sealed_chunk(chunk).held())
        elif isinstance(chunk, Columns) and forms is not None:
            if self._columns is None:  # pages of this memory that are not used yet take none
                self._structure, self._forms = chunk.structure, forms
                self._columns = [np.empty((len(self._slots), *form.shape), form.dtype) for form in forms]
            for values, column in zip(chunk.columns, self._columns, strict=True):
                fill_rows(column[begin:end], values)
        self._slots[positions] = np.arange(begin + 1, end + 1)
        self._count = end

    def _leave_columns(self) -> None:
        """Convert the kept columns to a list of elements."""
        if self._items is not None:
            return
        items: list[Any] = []
        if self._columns is not None and self._structure is not None:
            columns: list[Column] = [column[: self._count] for column in self._columns]
            items = sealed_chunk(Columns(self._structure, columns, self._count)).held()
        self._items, self._columns, self._structure = items, None, None


def permitted(chunk: Chunk, permit: Permit, kept: int, forms: list[UniformRow] | None = None) -> tuple[int, Chunk]:
    """Return how many of the first elements there is room for, taken from the permit now, and these elements.

    Elements that are to be copied, as rows of these `forms`, take the bytes of the copies.
    """
    count, some = len(chunk), chunk
    while count:
        nbytes = memory_of(some) if forms is None else count * sum(form.nbytes for form in forms)
        if permit.grow(nbytes):
            break
        count = min(count - 1, count * max(permit.room, 0) // max(nbytes, 1))
        some = chunk.select(np.arange(count))  # a copy: a view would keep the memory of all of them
    if count < len(chunk):
        permit.refuse(kept + count)
    return count, some


def sealed_chunk(chunk: Chunk) -> Chunk:
    """Return the elements in new containers, with read-only arrays, since every epoch returns them."""
    if isinstance(chunk, Columns):
        columns = [
            with_sealed_arrays(column) if isinstance(column, list) else sealed(column) for column in chunk.columns
        ]
        return Columns(chunk.structure, columns, len(chunk))
    return Items(with_sealed_arrays(chunk.elements()))


def handed_out(kept: Chunk) -> Chunk:
    """Return the elements of a sealed chunk, with copies of objects that cannot be sealed, such as PyTorch tensors."""
    if isinstance(kept, Items):
        return Items(with_own_objects(kept.values))
    return Columns(kept.structure, with_own_objects(kept.columns), len(kept))


def _merged(positions: Rows, missing: Rows, made: Chunk, others: Callable[[Rows], Chunk]) -> Chunk:
    """Return the elements at `positions`: those `made` for the `missing`, ascending, and the `others`, in order."""
    if np.array_equal(positions, missing):
        return made
    at = np.searchsorted(missing, positions).clip(max=len(missing) - 1)
    is_other = missing[at] != positions
    whole = made if not is_other.any() else concat([made, others(positions[is_other])])
    return whole.select(np.where(is_other, len(missing) - 1 + np.cumsum(is_other), at))


class KeptStream:
    """The first elements of a stream, as chunks, and the mark to continue from after them.

    Elements that the `permit` has no room for are not kept, nor any after them.
    """

    def __init__(self, permit: Permit | None = None) -> None:
        self._permit = Unlimited() if permit is None else permit
        self.count = 0
        self.complete = False
        self._mark: tuple[int, Any] = (0, None)
        self._chunks: list[Chunk] = []
        self._ends: list[int] = []
        self._rows: KeptRows | None = None  # the same elements, once any of them is read alone
        self._lock = threading.Lock()

    def nearest(self, at: int) -> tuple[int, Any]:
        """Return the number of elements, at most `at`, after which the input's mark is known, and the mark."""
        known = self._mark
        return known if known[0] <= at else (0, None)

    def add(self, at: int, chunk: Chunk, after: Any) -> None:
        """Keep the elements of a sealed chunk from position `at` on, if they are the next ones."""
        with self._lock:
            if at != self.count or self.complete or self._rows is not None or not len(chunk):
                return
            count, some = permitted(chunk, self._permit, self.count)
            if count:
                self._chunks.append(some if count == len(chunk) else sealed_chunk(some))
                self.count += count
                self._ends.append(self.count)
            if count == len(chunk):
                self._mark = self.count, after

    def end(self, at: int) -> None:
        """Record that the stream has `at` elements."""
        with self._lock:
            self.complete = self.complete or at == self.count

    def from_here(self, at: int) -> Chunk:
        """Return some of the elements from position `at` on, which is present."""
        with self._lock:
            rows = self._rows
            which = int(np.searchsorted(self._ends, at, side="right"))
            chunk, end = self._chunks[which] if rows is None else Items([]), self._ends[which]
        if rows is not None:
            return rows.take(np.arange(at, min(at + _AT_A_TIME, self.count)))
        return handed_out(chunk.slice(len(chunk) - (end - at), len(chunk)))

    def as_rows(self, count: int, overflow: Overflow | None = None) -> KeptRows:
        """Return the elements as the first of `count` rows; the others are in the overflow, or are made.

        The elements move, chunk by chunk: no more than one is in memory twice.
        """
        with self._lock:
            if self._rows is None:
                made = KeptRows(count, overflow=overflow)
                for i, end in enumerate(self._ends):
                    chunk, self._chunks[i] = self._chunks[i], Items([])
                    made.put(np.arange(end - len(chunk), end), chunk)
                made.close()
                self._rows = made
            return self._rows

"""The elements that a folder keeps for one key: present, read, written."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from penstock.cache.compressing import CODECS, Compression
from penstock.cache.folder import LENGTH, check_folder, folder_of, headers, prepare, publish, read
from penstock.cache.forms import RowForm
from penstock.cache.growth import Growth, is_in_memory
from penstock.cache.logs import ROWS_END, Logs
from penstock.cache.packing import Packer
from penstock.cache.reading import Located, read_rows
from penstock.core.arrays import Rows
from penstock.core.errors import CacheWarning
from penstock.core.frames import warn_at
from penstock.elements.chunks.chunk import Chunk, Column, Columns, Items, concat, values_in
from penstock.kernels.cached_rows import ANY_LENGTH, VERIFIED, copy_cached_rows, look_up_rows
from penstock.kernels.rows import native_rows
from penstock.storage.kept import MakeRows, handed_out, sealed_chunk

_LOOK_EVERY = 1.0  # seconds between looks for the rows of others, while rows are missing
_FORM_SHIFT, _FORM_MASK = np.uint64(52), np.uint64(0x7FF)


class CacheStore:
    """The elements of one key in a folder on disk, by row: `int64` numbers from 0, in any order, with gaps.

    Rows are positions, not global rows: the caller reduces rows of later epochs. A folder holds several keys side by
    side; `parts` are named texts that the key was made of, kept so that a later miss can say which of them changed
    (see `other_keys`). The key alone decides what is found.

    Any number of threads, processes and hosts may read and write at the same time, without locks; each row should be
    written with the same element by all. A store sees its own rows at once, and those of others after `refresh()`.
    Killed at any instant, what was written completely is there. The first read of a row in a process verifies its
    checksum; a damaged row counts as missing from then on, and may be written again.

    A store that cannot grow (disk full, over `limit_bytes`, read-only folder, I/O errors) goes on serving: `write`
    returns 0, `stopped` has the reason, and `tell` is called with it, once.

    Threads may share a store. A pickled store opens the same key again in the receiving process; after a fork the child
    writes into files of its own.

    >>> import tempfile
    >>> from penstock.elements.chunks.chunk import Items
    >>> with CacheStore(tempfile.mkdtemp(), "key", {"version": "1"}) as store:
    ...     store.write(np.array([5, 2]), Items([{"x": 50}, {"x": 20}]))
    ...     store.present(np.array([2, 3, 5])).tolist()
    ...     chunk, found = store.read(np.array([2, 5]))
    ...     chunk.elements()
    2
    [True, False, True]
    [{'x': 20}, {'x': 50}]
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        key: str,
        parts: Mapping[str, str],
        *,
        limit_bytes: int | None = None,
        compression: Compression | None = None,
        readonly: bool = False,
        tell: Callable[[str], None] | None = None,
    ) -> None:
        """Open the cache of `key` in a folder; make it, and the folder, if missing.

        `limit_bytes` bounds the whole folder, with all its keys. With `compression`, rows that become smaller are kept
        compressed; reading needs no such argument. `tell` gets the sentence that says why the store stopped growing (by
        default, a `CacheWarning`). `readonly` writes nothing, and neither does a store whose folder is not writable.

        A path that is a file raises a `NotADirectoryError`. A missing library for `compression` raises a
        `MissingDependencyError`. Caches of another version of the format stay untouched beside this one.
        """
        check_folder(os.fspath(folder))
        if compression not in CODECS:
            raise ValueError(f"cache(compression={compression!r}): expected 'lz4', 'zstd' or None")
        self._folder = os.path.abspath(os.fspath(folder))
        self._key, self._parts = key, dict(parts)
        self._settings = {"limit_bytes": limit_bytes, "compression": compression, "readonly": readonly, "tell": tell}
        self._length: int | None = None
        self._looked = 0.0
        self._process = os.getpid()
        self._logs = Logs(folder_of(self._folder, key))
        self._packer = Packer(compression)
        self._prepared = partial(prepare, self._folder, key, self._parts)  # no method, so that there is no cycle
        self._growth = Growth(self._folder, self._logs, self._prepared, tell or _warn, limit_bytes)
        if readonly:
            self._growth.stopped = f"cache({self._folder!r}) was opened with readonly=True"
        self.refresh()

    def present(self, rows: Rows) -> NDArray[np.bool_]:
        """Return which of these rows are there, `bool[k]`; rows may repeat."""
        return look_up_rows(self._logs.table, native_rows(rows))[0] != 0

    def missing(self, rows: Rows) -> Rows:
        """Return those of `rows` that are not there, each once, sorted."""
        return np.unique(rows[~self.present(rows)])

    def read(self, rows: Rows, out: list[NDArray[Any]] | None = None) -> tuple[Chunk, NDArray[np.bool_]]:
        """Return the elements of those rows that are there and sound, in order, and which rows these are, `bool[k]`.

        The chunk is `Columns` if all these elements have one structure, otherwise `Items`; its elements equal those
        written, in values and types. Arrays are read-only. If every row is found, arrays of one shape are copied to
        `out`, C-contiguous arrays of shape `(k, ...)`, one per leaf, where these fit. Other arrays of 64 KiB or more
        are views of the mapped files, and smaller ones of one shape one new array per leaf.
        """
        rows = native_rows(rows)
        found = None
        while True:
            which = None if found is None else np.flatnonzero(found)
            wanted = rows if which is None else rows[which]
            entries, missing, unverified, form = look_up_rows(self._logs.table, wanted)
            if missing:
                lost = np.flatnonzero(entries == 0)
            else:
                chunk, lost = self._chunk(entries, form, wanted, out if which is None else None)
                if not len(lost):
                    if unverified:
                        self._logs.verified(wanted, entries)
                    return chunk, np.ones(len(rows), np.bool_) if found is None else found
                self._logs.lose(wanted[lost])
            found = np.ones(len(rows), np.bool_) if found is None else found
            found[lost if which is None else which[lost]] = False

    def verify(self, rows: Rows) -> NDArray[np.bool_]:
        """Return which rows are there with their checksums, `bool[k]`; others count as missing from now on.

        Nothing is unpickled, and no element is made.
        """
        rows = native_rows(rows)
        entries = look_up_rows(self._logs.table, rows)[0] & ~VERIFIED
        self._logs.located(entries)
        spans = np.empty((len(rows), 2), np.int64)
        ok, bad = copy_cached_rows(entries, rows, self._logs.maps, ANY_LENGTH, [], spans)
        if bad:
            self._logs.lose(rows[~ok & (entries != 0)])
        return ok

    def fetch(self, rows: Rows, make: MakeRows, out: list[NDArray[Any]] | None = None) -> Chunk:
        """Return the elements of all rows; those that are missing or damaged come from `make`, and are written.

        `make(rows)` gets each missing row once, and `out` if it is to make them all. Written or not (a store that is
        full), its elements are part of the result; what it hands out is read-only, as everything from a store is.
        """
        chunk, found = self.read(rows, out)
        if not found.all() and time.monotonic() - self._looked > _LOOK_EVERY and self.refresh():
            chunk, found = self.read(rows, out)
        if found.all():
            return chunk
        absent = rows[~found]
        unique, order = np.unique(absent, return_index=True)
        if len(unique) < len(absent):
            absent, order = unique, np.arange(len(unique))
        made = sealed_chunk(make(absent) if out is None or len(absent) < len(rows) else make(absent, out))
        self.write(absent, made)
        if len(absent) == len(rows):
            return handed_out(made)
        places = np.cumsum(found) - 1
        places[~found] = int(found.sum()) + order[np.searchsorted(unique, rows[~found])]
        return handed_out((concat([chunk, made]) if len(chunk) else made).select(places))

    def write(self, rows: Rows, chunk: Chunk) -> int:
        """Keep element i of the chunk as row `rows[i]`; return the number of rows written now.

        Rows that are there already are left as they are; rows of more than 4 GiB are not kept. A leaf that cannot be
        pickled raises an `ElementError` that names it and the row; nothing of this call is kept then.
        """
        rows = native_rows(rows)
        if len(rows) != len(chunk):
            raise ValueError(f"write(): {len(rows)} rows for {len(chunk)} elements")
        if len(rows) and not 0 <= int(rows.min()) <= int(rows.max()) < ROWS_END:
            raise ValueError(f"write(): rows must be from 0 to {ROWS_END - 1}, not {rows.min()} to {rows.max()}")
        growth = self._writing()
        if growth.stopped is not None:
            return 0
        first = np.zeros(len(rows), np.bool_)
        first[np.unique(rows, return_index=True)[1]] = True
        rows, chunk = _chosen(rows, chunk, first & ~self.present(rows))
        return sum(growth.add(packed, rows[packed.which]) for packed in self._packer.pack(chunk, rows))

    def flush(self) -> None:
        """Wait until the rows that this store has written are on the disk; not needed for others to see them."""
        self._writing().sync()

    def refresh(self) -> int:
        """Look for rows that others have written since; return how many rows became present."""
        self._looked = time.monotonic()
        self._writing().look()
        return self._logs.refresh()

    def close(self) -> None:
        """End the files written by this store; reading goes on to work, and a later write begins new ones."""
        self._writing().close()

    def complete(self, length: int) -> None:
        """Record that the stream of this key has `length` elements, for all who open it: rows `0` to `length - 1`."""
        growth = self._writing()
        if self.stopped is None and self.length is None:
            try:
                publish(self._prepared(), LENGTH, {"length": int(length)})
            except OSError as error:
                growth.fail(error)

    @property
    def length(self) -> int | None:
        """The length that `complete` recorded, here or in another process (after `refresh`); `None` if unknown."""
        if self._length is None and (told := read(folder_of(self._folder, self._key), LENGTH)) is not None:
            self._length = int(told["length"])
        return self._length

    @property
    def prefix(self) -> int:
        """The number of rows present from row 0 on without a gap."""
        absent = self._logs.table == 0
        return int(absent.argmax()) if absent.any() else len(absent)

    @property
    def rows(self) -> Rows:
        """All rows present, ascending: `int64[count]`."""
        return np.flatnonzero(self._logs.table)

    @property
    def count(self) -> int:
        """The number of rows present."""
        return self._logs.count

    @property
    def bytes(self) -> int:
        """The bytes of this key's files, of all writers, when last seen."""
        return self._logs.bytes

    @property
    def damaged(self) -> int:
        """The number of damaged rows that this store met; they count as missing."""
        return self._logs.damaged

    @property
    def stopped(self) -> str | None:
        """The sentence that says why the store does not grow; `None` while it does."""
        return self._growth.stopped

    @property
    def is_memory(self) -> bool:
        """True if the folder lies in memory (tmpfs): its bytes count against the memory of the machine."""
        return is_in_memory(self._folder)

    @property
    def forms(self) -> list[RowForm]:
        """The forms of the rows met so far, which tell the structure and the leaves of elements."""
        return list(dict.fromkeys(form for form, _ in self._logs.forms))

    def other_keys(self) -> list[tuple[str, dict[str, str]]]:
        """Return the other keys in this folder, latest first, each with its parts: `(key, parts)`."""
        return [(header.key, dict(header.parts)) for _, header in headers(self._folder) if header.key != self._key]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        return _opened, (self._folder, self._key, self._parts, self._settings)

    def _writing(self) -> Growth:
        """Return what writes the files; the child of a fork gets locks and files of its own."""
        if self._process != os.getpid():
            self._process = os.getpid()
            self._logs.lock = threading.RLock()
            self._growth.forget()
        return self._growth

    def _chunk(
        self, entries: NDArray[np.uint64], form: int, rows: Rows, out: list[NDArray[Any]] | None
    ) -> tuple[Chunk, Rows]:
        """Return the elements of these entries, and no positions; or, if some are damaged, the positions of these.

        `form` is the number of the form of all, or -1.
        """
        if not len(rows):
            return Items([]), rows
        self._logs.located(entries)
        if form >= 0:
            return self._of_one_form(form, entries, rows, out)
        kinds = (entries >> _FORM_SHIFT) & _FORM_MASK
        chunks: list[tuple[Chunk, Rows]] = []
        lost: list[Rows] = []
        for kind in np.unique(kinds).tolist():
            which = np.flatnonzero(kinds == kind)
            chunk, bad = self._of_one_form(kind, entries[which], rows[which], None)
            chunks.append((chunk, which))
            lost.append(which[bad])
        if any(map(len, lost)):
            return Items([]), np.concatenate(lost)
        return _joined(chunks, len(rows)), rows[:0]

    def _of_one_form(
        self, kind: int, entries: NDArray[np.uint64], rows: Rows, out: list[NDArray[Any]] | None
    ) -> tuple[Chunk, Rows]:
        form, codec = self._logs.forms[kind]
        try:
            structure = form.structure
        except Exception:  # noqa: BLE001 - of a class that cannot be imported here
            return Items([]), np.arange(len(rows))
        columns, ok, bad = read_rows(form, codec, Located(entries, rows, self._logs.maps), out)
        if bad:
            return Items([]), np.flatnonzero(~ok)
        if form.is_whole:
            (elements,) = columns
            return Items(list(elements)), rows[:0]
        return Columns(structure, columns, len(rows)), rows[:0]


def _chosen(rows: Rows, chunk: Chunk, which: NDArray[np.bool_]) -> tuple[Rows, Chunk]:
    return (rows, chunk) if which.all() else (rows[which], chunk.select(np.flatnonzero(which)))


def _joined(chunks: list[tuple[Chunk, Rows]], count: int) -> Chunk:
    """Return the elements of several chunks, each at its positions, as one."""
    parts = [(chunk, which) for chunk, which in chunks if isinstance(chunk, Columns)]
    if len(parts) < len(chunks) or any(not chunk.structure.rebuilds_as(parts[0][0].structure) for chunk, _ in parts):
        elements: list[Any] = [None] * count
        for chunk, which in chunks:
            for i, element in zip(which.tolist(), chunk.elements(), strict=True):
                elements[i] = element
        return Items(elements)
    columns: list[Column] = []
    for leaf in range(len(parts[0][0].columns)):
        values: list[Any] = [None] * count
        for chunk, which in parts:
            for i, value in zip(which.tolist(), values_in(chunk.columns[leaf]), strict=True):
                values[i] = value
        columns.append(values)
    return Columns(parts[0][0].structure, columns, count)


def _warn(sentence: str) -> None:
    warn_at(None, CacheWarning(sentence))


def _opened(folder: str, key: str, parts: dict[str, str], settings: dict[str, Any]) -> CacheStore:
    return CacheStore(folder, key, parts, **settings)

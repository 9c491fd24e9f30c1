"""The elements that a folder keeps for one key: present, read, written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from penstock.core.arrays import Rows
from penstock.elements.chunks.chunk import Chunk

Compression: TypeAlias = Literal["lz4", "zstd"]


class CacheStore:
    """The elements of one key in a folder on disk, by row: `int64` numbers from 0, in any order, with gaps.

    Rows are positions, not global rows: the caller reduces rows of later epochs. A folder holds several keys side by
    side; `parts` are named texts that the key was made of, kept so that a later miss can say which of them changed
    (see `other_keys`). The key alone decides what is found.

    Any number of threads, processes and hosts may read and write at the same time, without locks; each row should be
    written with the same element by all. A store sees its own rows at once, and those of others after `refresh()`.
    Killed at any instant, what was written completely is there. Every read verifies a checksum; a damaged row counts as
    missing from then on, and may be written again.

    A store that cannot grow (disk full, over `limit_bytes`, read-only folder, I/O errors) goes on serving: `write`
    returns 0, `stopped` has the reason, and `tell` is called with it, once.

    Threads may share a store. A pickled store opens the same key again in the receiving process; after a fork the child
    writes into files of its own.

    >>> import tempfile
    >>> from penstock.elements.chunks.chunk import Items
    >>> with CacheStore.open(tempfile.mkdtemp(), "key", {"version": "1"}) as store:
    ...     store.write(np.array([5, 2]), Items([{"x": 50}, {"x": 20}]))
    ...     store.present(np.array([2, 3, 5])).tolist()
    ...     chunk, found = store.read(np.array([2, 5]))
    ...     chunk.elements()
    2
    [True, False, True]
    [{'x': 20}, {'x': 50}]
    """

    @classmethod
    def open(
        cls,
        folder: str,
        key: str,
        parts: Mapping[str, str],
        *,
        limit_bytes: int | None = None,
        compression: Compression | None = None,
        readonly: bool = False,
        tell: Callable[[str], None] | None = None,
    ) -> CacheStore:
        """Open the cache of `key` in a folder; make it, and the folder, if missing.

        `limit_bytes` bounds the whole folder, with all its keys. With `compression`, rows that become smaller are kept
        compressed; reading needs no such argument. `tell` gets the sentence that says why the store stopped growing (by
        default, a `CacheWarning`). `readonly` writes nothing, and neither does a store whose folder is not writable.

        A path that is a file raises a `NotADirectoryError`. A missing library for `compression` raises a
        `MissingDependencyError`. Caches of another version of the format stay untouched beside this one.
        """
        raise NotImplementedError

    def present(self, rows: Rows) -> NDArray[np.bool_]:
        """Return which of these rows are there, `bool[k]`; rows may repeat."""
        raise NotImplementedError

    def missing(self, rows: Rows) -> Rows:
        """Return those of `rows` that are not there, each once, sorted."""
        raise NotImplementedError

    def read(self, rows: Rows, out: list[NDArray[Any]] | None = None) -> tuple[Chunk, NDArray[np.bool_]]:
        """Return the elements of those rows that are there and sound, in order, and which rows these are, `bool[k]`.

        The chunk is `Columns` if all these elements have one structure, otherwise `Items`; it equals, in values and
        types, the elements written. Arrays are read-only. Where every row is found and `out` has the shapes and dtypes
        of the columns, they are copied there: `chunk.columns` is then `out`. Without `out`, arrays of 64 KiB or more
        are a list of views of the mapped files, and smaller ones one new array per leaf.
        """
        raise NotImplementedError

    def fetch(self, rows: Rows, make: Callable[[Rows], Chunk], out: list[NDArray[Any]] | None = None) -> Chunk:
        """Return the elements of all rows; those that are missing or damaged come from `make`, and are written.

        `make(rows)` gets each missing row once, in ascending order. Written or not (a store that is full), its elements
        are part of the result; what it hands out is read-only, as everything from a store is.
        """
        raise NotImplementedError

    def write(self, rows: Rows, chunk: Chunk) -> int:
        """Keep element i of the chunk as row `rows[i]`; return the number of rows written now.

        Rows that are there already are left as they are. A leaf that cannot be pickled raises an `ElementError` that
        names it and the row; nothing of this call is kept then.
        """
        raise NotImplementedError

    def flush(self) -> None:
        """Ask the system to begin to write this store's rows to the disk; does not wait, and raises nothing.

        Not needed for other processes to see them.
        """
        raise NotImplementedError

    def refresh(self) -> int:
        """Look for rows that others have written since; return how many rows became present."""
        raise NotImplementedError

    def close(self) -> None:
        """End the files written by this store; reading goes on to work, and a later write begins new ones."""
        raise NotImplementedError

    def complete(self, length: int) -> None:
        """Record that the stream of this key has `length` elements, for all who open it: rows `0` to `length - 1`."""
        raise NotImplementedError

    @property
    def length(self) -> int | None:
        """The length that `complete` recorded, here or in another process (after `refresh`); `None` if unknown."""
        raise NotImplementedError

    @property
    def prefix(self) -> int:
        """The number of rows present from row 0 on without a gap."""
        raise NotImplementedError

    @property
    def rows(self) -> Rows:
        """All rows present, ascending: `int64[count]`."""
        raise NotImplementedError

    @property
    def count(self) -> int:
        """The number of rows present."""
        raise NotImplementedError

    @property
    def bytes(self) -> int:
        """The bytes of this key's files, of all writers, when last seen."""
        raise NotImplementedError

    @property
    def damaged(self) -> int:
        """The number of damaged rows that this store met; they count as missing."""
        raise NotImplementedError

    @property
    def stopped(self) -> str | None:
        """The sentence that says why the store does not grow; `None` while it does."""
        raise NotImplementedError

    @property
    def is_memory(self) -> bool:
        """True if the folder lies in memory (tmpfs): its bytes count against the memory of the machine."""
        raise NotImplementedError

    def other_keys(self) -> list[tuple[str, dict[str, str]]]:
        """Return the other keys in this folder, latest first, each with its parts: `(key, parts)`."""
        raise NotImplementedError

    def __enter__(self) -> CacheStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

"""Records in files, one after another, with random access: as `bytes`, or a run joined in one array."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.core.arrays import Rows
from penstock.core.cached import cached_property
from penstock.core.digest import hasher
from penstock.core.frozen import frozen
from penstock.elements.chunks.chunk import Chunk, Column, Columns
from penstock.elements.nested.structure import LEAF
from penstock.elements.ragged import Ragged, make_ragged
from penstock.elements.spec import ObjectSpec, Spec
from penstock.kernels.records import Framing, RecordReader
from penstock.storage.indexing import IndexKind, index_files
from penstock.storage.records import open_records
from penstock.storage.sidecar import Sidecar, check_mapped


class KnownFiles:
    """Lazily computed facts about files, shared by sources that read the same files in different ways.

    An iterator over a rewritten plan thus reuses the files that the previous one mapped.
    """

    def __init__(self) -> None:
        self.sidecars: list[Sidecar] | None = None
        self.reader: RecordReader | None = None


class ByReader:
    """The records of files, read by one reader."""

    paths: list[str]

    @cached_property
    def reader(self) -> RecordReader:
        """The reader of the records."""
        raise NotImplementedError

    @cached_property
    def _fingerprint(self) -> tuple[Any, ...]:
        raise NotImplementedError

    @property
    def file_starts(self) -> Rows:
        """The first record of each file."""
        return self.reader.starts

    def advise(self, rows: Rows) -> None:
        """Ask the system to begin to read the records at `rows`."""
        self.reader.advise(np.ascontiguousarray(rows, np.int64))

    def describe(self, row: int) -> str:
        file, record = self.reader.place(row)
        return f"{self.paths[file]}, record {record}"

    def fingerprint(self) -> tuple[Any, ...]:
        """Return values that identify the data."""
        return self._fingerprint


@frozen(eq=False)
class RecordFiles(ByReader):
    """The records of some files, in their order, as `bytes`; `kind` is the kind of index.

    The index has `offsets`, `int64[n + 1]`: the begin of each record, and the end of the last. If `joined`, for a
    kernel that parses them, the records of a run are one `Ragged` column of `uint8` instead of `bytes`. If `unread`,
    for a kernel that reads files itself, elements are record numbers.
    """

    paths: list[str]
    kind: IndexKind
    framing: Framing
    name: str
    verify: bool = True
    joined: bool = False
    unread: bool = False
    opened: KnownFiles = field(default_factory=KnownFiles, repr=False)

    @property
    def sidecars(self) -> list[Sidecar]:
        """The index of each file, made now if missing."""
        if self.opened.sidecars is None:
            self.opened.sidecars = index_files(self.paths, self.kind, tolerant=True)
        return self.opened.sidecars

    @property
    def length(self) -> int:
        return self._length

    @cached_property
    def _length(self) -> int:
        return sum(len(of_file) - 1 for of_file in self.offsets) + len(self.faults)

    @cached_property
    def offsets(self) -> list[NDArray[np.int64]]:
        """The begins of the records of each file, and the end of the last."""
        return [sidecar.arrays["offsets"] for sidecar in self.sidecars]

    @cached_property
    def faults(self) -> Mapping[int, Exception]:
        """The errors of files, by number: each is the error of one record after those found."""
        return {file: sidecar.fault for file, sidecar in enumerate(self.sidecars) if sidecar.fault is not None}

    @cached_property
    def reader(self) -> RecordReader:
        """The reader of the records."""
        if self.opened.reader is None:
            offsets, nowhere = self.offsets, np.full(1, -1, np.int64)
            begins, ends = [of_file[:-1] for of_file in offsets], [of_file[1:] for of_file in offsets]
            for file in self.faults:
                begins[file], ends[file] = np.append(begins[file], nowhere), np.append(ends[file], nowhere)
            check_mapped(self.sidecars)
            self.opened.reader = open_records(
                self.paths,
                begins,
                ends,
                [sidecar.stamp.size for sidecar in self.sidecars],
                [sidecar.time for sidecar in self.sidecars],
                framing=self.framing,
                verify=self.verify,
                faults=self.faults,
            )
        return self.opened.reader

    def spec(self) -> Spec:
        return ObjectSpec(bytes)

    def read_many(self, rows: Rows, out: list[NDArray[Any]] | None = None) -> Chunk:
        column: Column
        rows = np.ascontiguousarray(rows, np.int64)
        if self.unread:
            column = rows
        elif self.joined:
            column = self.read_joined(rows)
        else:
            column = self.reader.read(rows, memory_for_objects(out, len(rows)))
        return Columns(LEAF, [column], len(rows))

    def read_joined(self, rows: Rows) -> Ragged:
        """Return the records at `rows`, `uint8[k, ~]`."""
        values, splits = self.reader.join(rows)
        return make_ragged(values, splits)

    @cached_property
    def _fingerprint(self) -> tuple[Any, ...]:
        """The format, the number of records, and a digest of the sizes and content of the files."""
        return (self.kind.format, *self.kind.parameters, self.length, content_of(self.sidecars))

    def __getstate__(self) -> Mapping[str, Any]:
        """Return the description alone: the receiver opens the files again, and finds their stored index."""
        told = {part.name: self.__dict__[part.name] for part in fields(self)}
        return {**told, "opened": KnownFiles()}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.__dict__.update(state)


def memory_for_objects(out: list[NDArray[Any]] | None, count: int) -> NDArray[Any] | None:
    """Return the given memory if it fits `count` objects, which then need no list.

    >>> memory_for_objects([np.empty(2, object)], 2)
    array([None, None], dtype=object)
    """
    if out is None or len(out) != 1:
        return None
    (memory,) = out
    fits = memory.shape == (count,) and memory.dtype == np.object_ and memory.flags.c_contiguous
    return memory if fits and memory.flags.writeable else None


def content_of(sidecars: Sequence[Sidecar]) -> str:
    """Return a digest of the sizes and content of the indexed files, in order."""
    hashed = hasher()
    for sidecar in sidecars:
        hashed.update(f"{sidecar.stamp.size} {sidecar.stamp.digest} ".encode())
    return hashed.hexdigest()

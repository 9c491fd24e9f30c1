"""Records that lie in files one after another, at random: each as `bytes`, or all of a run joined in one array."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.core.arrays import Rows
from penstock.core.digest import hasher
from penstock.elements.chunks.chunk import Chunk, Column, Columns
from penstock.elements.nested.structure import LEAF
from penstock.elements.ragged import Ragged, made
from penstock.elements.spec import ObjectSpec, Spec
from penstock.kernels.records import Framing, RecordReader
from penstock.storage.indexing import Kind, index_files
from penstock.storage.sidecar import Sidecar, check_mapped


class Opened:
    """What is known of files once it was asked for, by one source or another that hands them up in another way.

    So an iterator, whose plan is rewritten, finds the files mapped that the one before has mapped.
    """

    def __init__(self) -> None:
        self.sidecars: list[Sidecar] | None = None
        self.reader: RecordReader | None = None


@dataclass(frozen=True, eq=False)
class RecordFiles:
    """The records of some files, in their order, as `bytes`; `kind` says how they are indexed.

    The index has `offsets`, `int64[n + 1]`: where each record begins, and where the last ends. Where they are
    `joined`, for a kernel that parses them, the records of a run are one `Ragged` column of `uint8`, and no `bytes`.
    Where they are left `unread`, for one that reads them itself, a record's number stands in its place.
    """

    paths: list[str]
    kind: Kind
    framing: Framing
    name: str
    verify: bool = True
    joined: bool = False
    unread: bool = False
    opened: Opened = field(default_factory=Opened, repr=False)

    @property
    def sidecars(self) -> list[Sidecar]:
        """The index of each file, made now where there is none."""
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
        """Where the records of each file begin, and where the last ends."""
        return [sidecar.arrays["offsets"] for sidecar in self.sidecars]

    @cached_property
    def faults(self) -> Mapping[int, Exception]:
        """The errors of files, by their number: each is the error of one record behind those that were found."""
        return {file: sidecar.fault for file, sidecar in enumerate(self.sidecars) if sidecar.fault is not None}

    @property
    def reader(self) -> RecordReader:
        """What reads the records."""
        if self.opened.reader is None:
            offsets, nowhere = self.offsets, np.full(1, -1, np.int64)
            begins, ends = [of_file[:-1] for of_file in offsets], [of_file[1:] for of_file in offsets]
            for file in self.faults:
                begins[file], ends[file] = np.append(begins[file], nowhere), np.append(ends[file], nowhere)
            check_mapped(self.sidecars)
            self.opened.reader = RecordReader(
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
        """The records at `rows`, `uint8[k, ~]`."""
        values, splits = self.reader.join(rows)
        return made(values, splits)

    def advise(self, rows: Rows) -> None:
        """Have the system begin to read the records at `rows`."""
        self.reader.advise(np.ascontiguousarray(rows, np.int64))

    def describe(self, row: int) -> str:
        file, record = self.reader.place(row)
        return f"{self.paths[file]}, record {record}"

    def fingerprint(self) -> tuple[Any, ...]:
        """Return the format, how many records there are, and a digest of the sizes and content of the files."""
        return self._fingerprint

    @cached_property
    def _fingerprint(self) -> tuple[Any, ...]:
        return (self.kind.format, *self.kind.parameters, self.length, content_of(self.sidecars))

    def __getstate__(self) -> Mapping[str, Any]:
        """The description alone: who receives it opens the files anew, and finds the index where it is kept."""
        told = {part.name: self.__dict__[part.name] for part in fields(self)}
        return {**told, "opened": Opened()}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.__dict__.update(state)


def memory_for_objects(out: list[NDArray[Any]] | None, count: int) -> NDArray[Any] | None:
    """Return the memory given for `count` objects, where it is such: they need no list then.

    >>> memory_for_objects([np.empty(2, object)], 2)
    array([None, None], dtype=object)
    """
    if out is None or len(out) != 1:
        return None
    (memory,) = out
    fits = memory.shape == (count,) and memory.dtype == np.object_ and memory.flags.c_contiguous
    return memory if fits and memory.flags.writeable else None


def content_of(sidecars: Sequence[Sidecar]) -> str:
    """Return a digest of the sizes and the content of the files of these indexes, in their order."""
    hashed = hasher()
    for sidecar in sidecars:
        hashed.update(f"{sidecar.stamp.size} {sidecar.stamp.digest} ".encode())
    return hashed.hexdigest()

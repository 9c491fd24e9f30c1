"""Records of remote objects, located by an index, behind the interface of the reader of local files."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from penstock.core.arrays import Rows
from penstock.kernels.records import Framing, RecordReader, RecordStatus, masked_crc32c
from penstock.storage.local import Extent
from penstock.storage.remote.fetcher import fetcher

_HEAD, _TAIL = 12, 4  # bytes of a TFRecord's frame before and after its content
_LENGTH = struct.Struct("<Q")
_CHECKSUM = struct.Struct("<I")


class RemoteRecords(RecordReader):
    """The records of remote objects, numbered across all of them; arguments and errors are those of `RecordReader`.

    Records are copied out of the ranges that were fetched. Kernels that read files themselves cannot read these.
    """

    native: Any = None

    def __init__(  # pyright: ignore[reportMissingSuperCall] - the files of the base are local
        self,
        paths: Sequence[str],
        begins: Sequence[Rows | range],
        ends: Sequence[Rows | range],
        sizes: Sequence[int],
        *,
        framing: Framing = Framing.PLAIN,
        verify: bool = True,
        faults: Mapping[int, Exception] | None = None,
    ) -> None:
        self._faults = faults or {}
        self._paths = paths
        self._begins = begins
        self._ends = ends
        self._sizes = sizes
        self._starts = np.cumsum([0, *map(len, begins)])
        self._framing = framing
        self._verify = verify

    @overload
    def read(self, rows: Rows) -> list[bytes]: ...
    @overload
    def read(self, rows: Rows, out: NDArray[Any] | None) -> list[bytes] | NDArray[Any]: ...
    def read(self, rows: Rows, out: NDArray[Any] | None = None) -> list[bytes] | NDArray[Any]:
        return _given([bytes(content) for content in self._contents(rows)], out)

    @overload
    def read_text(self, rows: Rows, encoding: str = "utf-8", errors: str = "strict") -> list[str]: ...
    @overload
    def read_text(
        self, rows: Rows, encoding: str, errors: str, out: NDArray[Any] | None
    ) -> list[str] | NDArray[Any]: ...
    def read_text(
        self, rows: Rows, encoding: str = "utf-8", errors: str = "strict", out: NDArray[Any] | None = None
    ) -> list[str] | NDArray[Any]:
        texts: list[str] = []
        for i, content in enumerate(self._contents(rows)):
            try:
                texts.append(str(content, encoding, errors))
            except UnicodeDecodeError as failure:
                failure.element = i  # type: ignore[attr-defined] - tells which element failed
                raise
        return _given(texts, out)

    def join(
        self, rows: Rows, allocate: Callable[..., NDArray[Any]] = np.empty
    ) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        contents = self._contents(rows)
        splits = np.zeros(len(rows) + 1, np.int64)
        np.cumsum([len(content) for content in contents], out=splits[1:])
        joined = allocate((int(splits[-1]),), np.dtype(np.uint8))
        for content, begin, end in zip(contents, splits[:-1].tolist(), splits[1:].tolist(), strict=True):
            joined[begin:end] = content
        return joined, splits

    def advise(self, rows: Rows) -> None:
        """Begin to fetch the records at `rows`, without waiting."""
        fetcher().announce([extent for extent in self._extents(rows) if extent is not None])

    def _extents(self, rows: Rows) -> list[Extent | None]:
        """Return the extent of each record; `None` for one without bytes, and one outside its file."""
        files = np.searchsorted(self._starts, rows, side="right") - 1
        begins, ends = np.empty(len(rows), np.int64), np.empty(len(rows), np.int64)
        for file in np.unique(files).tolist():
            there = np.flatnonzero(files == file)
            numbers = rows[there] - self._starts[file]
            begins[there] = _picked(self._begins[file], numbers)
            ends[there] = _picked(self._ends[file], numbers)
        found: list[Extent | None] = []
        for file, begin, end in zip(files.tolist(), begins.tolist(), ends.tolist(), strict=True):
            path, size = self._paths[int(file)], self._sizes[int(file)]
            found.append((path, begin, end) if 0 <= begin < end <= size else None)
        return found

    def _contents(self, rows: Rows) -> list[memoryview]:
        """Return the content of each record, checked and without its frame."""
        extents = self._extents(rows)
        at = [i for i, extent in enumerate(extents) if extent is not None]
        if len(at) < len(extents):
            self._check_others(rows, extents)
        try:
            read = fetcher().read([extent for extent in extents if extent is not None])
        except Exception as error:
            if (element := getattr(error, "element", None)) is not None:
                error.element = at[element]  # type: ignore[attr-defined] - tells which element failed
            raise
        found = dict(zip(at, read, strict=True))
        if self._framing == Framing.TFRECORD:
            return [self._unframed(found[i], i, rows) for i in range(len(rows))]
        empty = memoryview(b"")
        contents = [found.get(i, empty) for i in range(len(rows))]
        return list(map(_line, contents)) if self._framing == Framing.LINE else contents

    def _check_others(self, rows: Rows, extents: Sequence[Extent | None]) -> None:
        """Raise the error of the first record that is not in its file, or stands for a fault of the file."""
        for i in np.flatnonzero([extent is None for extent in extents]).tolist():
            file, record = self.place(int(rows[i]))
            if file in self._faults and record == len(self._begins[file]) - 1:
                fault = copy(self._faults[file])  # notes belong to one raise
                fault.element = i  # type: ignore[attr-defined] - tells which element failed
                raise fault
            begin, end = int(self._begins[file][record]), int(self._ends[file][record])
            if not 0 <= begin <= end <= self._sizes[file] or self._framing == Framing.TFRECORD:
                self._refuse((RecordStatus.BAD_INDEX, i, 0), rows)

    def _unframed(self, record: memoryview, i: int, rows: Rows) -> memoryview:
        if len(record) < _HEAD + _TAIL or _LENGTH.unpack_from(record)[0] != len(record) - _HEAD - _TAIL:
            self._refuse((RecordStatus.BAD_LENGTH, i, 0), rows)
        content = record[_HEAD:-_TAIL]
        if self._verify and masked_crc32c(content) != _CHECKSUM.unpack_from(record, len(record) - _TAIL)[0]:
            self._refuse((RecordStatus.BAD_CHECKSUM, i, 0), rows)
        return content


def _picked(places: Rows | range, numbers: Rows) -> Rows:
    return places.start + places.step * numbers if isinstance(places, range) else places[numbers]


def _line(content: memoryview) -> memoryview:
    """Return a line without its end, and without the lines that are left out after it."""
    line = bytes(content)
    end = line.find(b"\n")
    if end < 0:
        return content
    return content[: end - 1 if line[:end].endswith(b"\r") else end]


def _given(values: list[Any], out: NDArray[Any] | None) -> Any:
    if out is None:
        return values
    out[:] = values
    return out

"""Records of files: located by an index, copied from mapped memory and checked; and the scans that make an index."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from enum import IntEnum
from typing import Any, NoReturn, overload

import numpy as np
from numpy.typing import NDArray

from penstock.core.arrays import Rows
from penstock.core.errors import DataError
from penstock.kernels import _native
from penstock.kernels.files import OTHER_SIZE, WRITTEN_TO


class ScanError(DataError):
    """A file that cannot be scanned to its end; `arrays` is the index up to there."""

    arrays: Mapping[str, NDArray[Any]] | None = None


MOST_OPEN = 1024
"""The number of files that one reader keeps mapped; their descriptors are closed."""
_SCANNED_AT_ONCE = 1 << 16  # offsets


class Framing(IntEnum):
    """The form of a record between its two offsets: all bytes, in a TFRecord's frame, or a line without its end."""

    PLAIN = 0
    TFRECORD = 1
    LINE = 2


class RecordStatus(IntEnum):
    """The outcome of reading records."""

    OK = 0
    CANNOT_OPEN = 1
    OTHER_SIZE = 2
    BAD_INDEX = 3
    TRUNCATED = 4
    BAD_LENGTH = 5
    BAD_CHECKSUM = 6
    REWRITTEN = 7


def crc32c(data: Any, crc: int = 0) -> int:
    """Return the CRC-32C of a contiguous buffer, continuing `crc` of the bytes before.

    >>> hex(crc32c(b"123456789"))
    '0xe3069283'
    """
    return _native.crc32c(data, crc)


def masked_crc32c(data: Any) -> int:
    """Return the CRC-32C in TFRecord's masked form.

    >>> hex(masked_crc32c(bytes(32)))
    '0xfd7fffa'
    """
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


class RecordReader:
    """The records of some files, numbered across all files.

    Record i of file f lies from `begins[f][i]` to `ends[f][i]`: both `int64` arrays, which must not change while the
    reader lives, or both ranges; `sizes` are the sizes of the files when the index was made, and `times` the times of
    their last changes, in ns. Files are mapped on first read. A file changed since the index was made, or while records
    are copied, raises an error; a file replaced while mapped stays as it was. Any number of threads may read. A bad
    record raises a `DataError` (`OSError` if a file cannot be opened) that names the file, the record and the reason,
    with its position in the requested rows as `element`.
    """

    def __init__(
        self,
        paths: Sequence[str],
        begins: Sequence[Rows | range],
        ends: Sequence[Rows | range],
        sizes: Sequence[int],
        times: Sequence[int | None] | None = None,
        *,
        framing: Framing = Framing.PLAIN,
        verify: bool = True,
        faults: Mapping[int, Exception] | None = None,
    ) -> None:
        """Keep the places; `faults` has errors by file number, each of an additional last record without a place."""
        self._faults = faults or {}
        self._paths = paths
        self._begins = begins
        self._sizes = sizes
        self._starts = np.cumsum([0, *map(len, begins)])
        names = [os.fsencode(path) for path in paths]
        self.native = _native.RecordReader(
            names,
            list(begins),
            list(ends),
            list(sizes),
            [None] * len(names) if times is None else list(times),
            int(framing),
            verify,
            MOST_OPEN,
        )

    def __len__(self) -> int:
        return int(self._starts[-1])

    @property
    def starts(self) -> Rows:
        """The first record of each file."""
        return self._starts[:-1]

    @overload
    def read(self, rows: Rows) -> list[bytes]: ...
    @overload
    def read(self, rows: Rows, out: NDArray[Any] | None) -> list[bytes] | NDArray[Any]: ...
    def read(self, rows: Rows, out: NDArray[Any] | None = None) -> list[bytes] | NDArray[Any]:
        """Return the records at `rows`, positions in [0, len), as `bytes`: in `out`, k objects, if given."""
        records, outcome, _ = self.native.read(rows, None, "", out)
        if records is None:
            self._refuse(outcome, rows)
        return records

    @overload
    def read_text(self, rows: Rows, encoding: str = "utf-8", errors: str = "strict") -> list[str]: ...
    @overload
    def read_text(
        self, rows: Rows, encoding: str, errors: str, out: NDArray[Any] | None
    ) -> list[str] | NDArray[Any]: ...
    def read_text(
        self, rows: Rows, encoding: str = "utf-8", errors: str = "strict", out: NDArray[Any] | None = None
    ) -> list[str] | NDArray[Any]:
        """Return the records at `rows` as text, in `out` if given; `encoding` and `errors` are those of `bytes.decode`.

        Invalid bytes raise a `UnicodeDecodeError` with the position in `rows` as `element`.
        """
        texts, outcome, failure = self.native.read(rows, encoding, errors, out)
        if failure is not None:
            failure.element = outcome[1]  # type: ignore[attr-defined] - tells which element failed
            raise failure
        if texts is None:
            self._refuse(outcome, rows)
        return texts

    def join(
        self, rows: Rows, allocate: Callable[..., NDArray[Any]] = np.empty
    ) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """Return the records at `rows`, joined in one array of bytes, and the k + 1 offsets between them."""
        splits = np.empty(len(rows) + 1, np.int64)
        found, outcome = self.native.find(rows, splits)
        if found is None:
            self._refuse(outcome, rows)
        joined = allocate((int(splits[-1]),), np.dtype(np.uint8))
        outcome = self.native.join(found, joined)
        if outcome[0] != RecordStatus.OK:
            self._refuse(outcome, rows)
        return joined, splits

    def advise(self, rows: Rows) -> None:
        """Ask the system to begin to read the records at `rows` that are not in memory, in disk order.

        Errors of a record are raised when it is read.
        """
        self.native.advise(rows)

    def place(self, row: int) -> tuple[int, int]:
        """Return the file of a row, and its number there."""
        file = int(np.searchsorted(self._starts, row, side="right")) - 1
        return file, row - int(self._starts[file])

    def _refuse(self, outcome: tuple[int, int, int], rows: Rows) -> NoReturn:
        status, element, detail = outcome
        file, record = self.place(int(rows[element]))
        path = self._paths[file]
        if file in self._faults and record == len(self._begins[file]) - 1:
            fault = copy(self._faults[file])  # notes belong to one raise
            fault.element = element  # type: ignore[attr-defined] - tells which element failed
            raise fault
        try:
            where = f"record {record}, at byte {int(self._begins[file][record])} of {path}"
        except IndexError:  # the index itself is invalid
            where = f"record {record} of {path}"
        if status == RecordStatus.CANNOT_OPEN:
            failure = OSError(detail, os.strerror(detail), path)
            if detail == errno.ENOENT:
                failure.add_note("the file has been moved or deleted since the dataset was made")
            failure.element = element  # type: ignore[attr-defined] - tells which element failed
            raise failure
        error = DataError(f"{where}: {_REASONS[RecordStatus(status)].format(now=detail, then=self._sizes[file])}")
        error.element = element
        raise error


_REASONS = {
    RecordStatus.OTHER_SIZE: OTHER_SIZE,
    RecordStatus.BAD_INDEX: "its index points outside the file; remove the index, and make the dataset again",
    RecordStatus.TRUNCATED: "the file was cut short, or became unreadable, while it was read",
    RecordStatus.BAD_LENGTH: "its length field is damaged, or the file was rewritten since it was indexed",
    RecordStatus.BAD_CHECKSUM: "its content is damaged: the checksum (CRC-32C) does not match; ds.ignore_errors() "
    "continues with the next record, verify=False reads it as it is",
    RecordStatus.REWRITTEN: WRITTEN_TO,
}


class _Scan(IntEnum):
    MORE = 0
    END = 1
    TRUNCATED = 2
    SHORT = 3
    BAD_LENGTH = 4
    BAD_CHECKSUM = 5


def open_scanner(path: str) -> _native.Scanner:
    """Return the scanner of a regular file, or raise the `OSError` of opening it."""
    scanner = _native.Scanner(os.fsencode(path))
    if scanner.error:
        raise OSError(scanner.error, os.strerror(scanner.error), path)
    return scanner


def scan_tfrecords(path: str, *, verify: bool = False, seen: Callable[[int], None] | None = None) -> NDArray[np.int64]:
    """Return the begin of each record of a TFRecord file, and the end of the last: `int64[n + 1]`.

    The checksum of each length is checked and, with `verify`, that of each record; `seen` is called with each position
    reached. A damaged file raises a `DataError` that names the record and its offset.
    """
    scanner = open_scanner(path)

    def scan(position: int, offsets: Rows) -> tuple[int, int, int]:
        return scanner.tfrecords(position, offsets, verify)

    parts, status, position = run_scan(scan, seen)
    if status != _Scan.END:
        count = sum(map(len, parts))
        where = f"{path}: record {count}, at byte {position} of {scanner.size}"
        error = ScanError(f"{where}: {_SCAN_REASONS[_Scan(status)]}")
        error.arrays = {"offsets": np.concatenate([*parts, np.array([position], np.int64)])}
        raise error
    return np.concatenate([*parts, np.array([position], np.int64)])


def scan_tfrecord_bytes(data: bytes, *, verify: bool) -> tuple[NDArray[np.int64], str]:
    """Return the begins of the first whole records in `data`, the end of the last, and any error after it.

    Data that only ends too soon is not an error.
    """

    def scan(position: int, offsets: Rows) -> tuple[int, int, int]:
        return _native.scan_tfrecords(data, position, offsets, verify)

    parts, status, position = run_scan(scan, None)
    problem = "" if status in (_Scan.END, _Scan.SHORT) else _SCAN_REASONS[_Scan(status)]
    return np.concatenate([*parts, np.array([position], np.int64)]), problem


def run_scan(
    scan: Callable[[int, Rows], tuple[int, int, int]], seen: Callable[[int], None] | None
) -> tuple[list[NDArray[np.int64]], int, int]:
    """Call `scan(position, offsets) -> (status, offsets written, position)` until its status is not 0.

    Return the parts of offsets, the status and the position.
    """
    parts: list[NDArray[np.int64]] = []
    position, status = 0, int(_Scan.MORE)
    while status == _Scan.MORE:
        offsets = np.empty(_SCANNED_AT_ONCE, np.int64)
        status, count, position = scan(position, offsets)
        parts.append(offsets[:count].copy() if count < len(offsets) else offsets)
        if seen is not None:
            seen(position)
    return parts, status, position


BAD_CHECKSUM = "its content is damaged: the checksum (CRC-32C) does not match"
_SCAN_REASONS = {
    _Scan.TRUNCATED: "the file was cut short, or became unreadable, while it was read",
    _Scan.SHORT: "the file ends inside it: it was cut short, or is still being written",
    _Scan.BAD_LENGTH: "the checksum of its length does not match: it is not a TFRecord, or damaged from here on",
    _Scan.BAD_CHECKSUM: BAD_CHECKSUM,
}

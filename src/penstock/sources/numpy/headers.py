"""The arrays of NumPy's files, by their headers, which are checked against the size of the file."""

from __future__ import annotations

import errno
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import replace
from io import BytesIO
from math import prod
from typing import IO, Any, NamedTuple

import numpy as np

from penstock.core.errors import DataError
from penstock.core.frozen import frozen
from penstock.storage.local import file_size
from penstock.storage.remote.opened import open_parts

_LONGEST_HEADER = 1 << 20
_LONGEST_TEXT = 10_000  # of a header, as in NumPy
_MOST_DEFLATED = 1032  # the largest ratio of deflate
_LOCAL_HEADER = 30  # bytes of a zip file's local header, before the name
_DIRECTORY_END = 22  # bytes of the end of its directory, before a comment
_IN_ZIP64 = 0xFFFF  # members: the number is stored elsewhere
_UTF8 = 1 << 11  # the flag of a name in UTF-8
_ENDLESS = 1 << 200  # bytes, more than any array


class FilePart(NamedTuple):
    """The rows of an array in one file."""

    file: int
    begin: int
    """The position of the first row in the file; -1 if the rows are not consecutive, or are compressed."""
    rows: int
    member: str
    """The name in an `.npz` file."""
    stored: tuple[int, int, int] | None = None
    """The begin and end of the member in the file, and its CRC-32, if not compressed."""


@frozen()
class Array:
    """One array along all files: the same type and shape of rows in each."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    """The shape of one row."""
    parts: tuple[FilePart, ...]
    swapped: bool = False
    """True if the byte order of the file differs from the machine's."""

    @property
    def width(self) -> int:
        """Bytes of a row."""
        return self.dtype.itemsize * prod(self.shape)

    @property
    def in_place(self) -> bool:
        """True if rows can be read in place."""
        return self.width > 0 and all(part.begin >= 0 for part in self.parts)


def begins_as_npy(path: str) -> bool:
    """Return whether a truncated `.npy` file has whole rows."""
    try:
        return torn_array(0, path).parts[0].begin >= 0
    except (DataError, OSError):
        return False


def torn_array(file: int, path: str) -> Array:
    """Return the whole rows of a truncated `.npy` file."""
    size = file_size(path)
    with open_parts(path) as source:
        described = _described(source, path, file, 0, _ENDLESS, "")
    part = described.parts[0]
    whole = max(size - part.begin, 0) // max(described.width, 1)
    return replace(described, parts=(part._replace(rows=min(part.rows, whole)),))


def members_of(file: int, path: str) -> Iterator[tuple[str, Array]]:
    """Yield the arrays of a file by name; the name for an `.npy` file is empty."""
    size = file_size(path)
    with open_parts(path) as source:
        zipped = source.read(4) in (b"PK\x03\x04", b"PK\x05\x06")
        source.seek(0)
        if not zipped:
            yield "", _described(source, f"{path}", file, 0, size, "")
            return
        if not zipfile.is_zipfile(source):
            raise DataError(
                f"{path} has {size:,} bytes, without the directory of its arrays that ends an .npz file: it was cut "
                "short, or is still being written; copy or write it again"
            )
    try:
        with open_parts(path) as whole, zipfile.ZipFile(whole) as archive, open_parts(path) as source:
            _check_members(archive, source, path, size)
            for info in archive.infolist():
                begin = _content_begin(source, info, path)  # also for skipped members: a name may be damaged
                if info.filename.endswith(".npy"):
                    yield info.filename.removesuffix(".npy"), _member(archive, source, info, path, file, size, begin)
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: {error}") from None
    except OSError as error:
        if error.errno != errno.EINVAL:  # a place before the beginning of the file
            raise
        raise DataError(f"{path}: its directory is damaged: {error}") from None


def _check_members(archive: zipfile.ZipFile, source: IO[bytes], path: str, size: int) -> None:
    """Raise a `DataError` if damage hides entries of the directory, by the count at its end."""
    source.seek(size - _DIRECTORY_END - len(archive.comment))
    found, told = len(archive.infolist()), int.from_bytes(source.read(_DIRECTORY_END)[10:12], "little")
    if told not in (found, _IN_ZIP64):
        raise DataError(f"{path}: its directory is damaged: it has {found} of {told} members; copy or write it again")


def _member(
    archive: zipfile.ZipFile, source: IO[bytes], info: zipfile.ZipInfo, path: str, file: int, size: int, begin: int
) -> Array:
    place = f"{path}, {info.filename}"
    if info.compress_type != zipfile.ZIP_STORED:
        if info.file_size > _MOST_DEFLATED * info.compress_size + _LONGEST_HEADER:
            raise DataError(f"{place}: {info.compress_size:,} bytes cannot decompress to {info.file_size:,}")
        with archive.open(info) as member:
            described = _described(BytesIO(member.read(_LONGEST_HEADER)), place, file, 0, info.file_size, info.filename)
        return _elsewhere(described)
    if begin + info.file_size > size:
        raise DataError(f"{place}: the file is cut short: it has {size:,} bytes")
    source.seek(begin)
    end = begin + info.file_size
    described = _described(source, place, file, begin, end, info.filename)
    return replace(described, parts=tuple(part._replace(stored=(begin, end, info.CRC)) for part in described.parts))


def _content_begin(source: IO[bytes], info: zipfile.ZipInfo, path: str) -> int:
    """Return the beginning of a member's content, by the header before it, which must have the member's name."""
    source.seek(info.header_offset)
    local = source.read(_LOCAL_HEADER)
    if len(local) < _LOCAL_HEADER or not local.startswith(b"PK\x03\x04"):
        raise DataError(f"{path}, {info.filename}: there is no member at byte {info.header_offset:,}")
    named, more = int.from_bytes(local[26:28], "little"), int.from_bytes(local[28:30], "little")
    if source.read(named) != info.orig_filename.encode("utf-8" if info.flag_bits & _UTF8 else "cp437"):
        raise DataError(f"{path}, {info.filename}: the member at byte {info.header_offset:,} has another name")
    return info.header_offset + _LOCAL_HEADER + named + more


def _described(source: IO[bytes], place: str, file: int, begin: int, end: int, member: str) -> Array:
    """Return the array that a header describes, checked against its bytes, `begin` to `end`."""
    shape, fortran, dtype, header = array_header(source, place, end - begin)
    if not shape:
        raise DataError(f"{place}: an array of shape {shape} has no rows")
    header += begin
    native = dtype if dtype.fields else dtype.newbyteorder("=")
    described = Array(native, tuple(shape[1:]), (FilePart(file, header, shape[0], member),), native != dtype)
    return _elsewhere(described) if fortran and len(shape) > 1 else described


def array_header(source: IO[bytes], place: str, nbytes: int) -> tuple[tuple[int, ...], bool, np.dtype[Any], int]:
    """Return the shape, the Fortran order, the dtype and the header size of an array of `nbytes`.

    Raise a `DataError` that begins with the place if they do not fit, and for arrays of objects.
    """
    head = BytesIO(source.read(_LONGEST_TEXT + 12))  # its length is checked before memory is allocated
    try:
        version = np.lib.format.read_magic(head)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, fortran, dtype = read(head, max_header_size=_LONGEST_TEXT)
    except Exception as error:  # noqa: BLE001 - NumPy's parser passes on any error of Python's parser
        raise DataError(f"{place}: it is not an array in NumPy's format: {error}") from None
    if dtype.hasobject:
        raise DataError(
            f"{place}: it holds Python objects, which are not supported, since only pickle reads them and can run code"
        )
    if not all(type(size) is int and 0 <= size < 1 << 62 for size in shape):
        raise DataError(f"{place}: an array of shape {shape} has no rows")
    if head.tell() + dtype.itemsize * prod(shape) > nbytes:
        raise DataError(
            f"{place}: an array of {dtype}{list(shape)} takes {dtype.itemsize * prod(shape):,} bytes, and there are "
            f"{max(nbytes - head.tell(), 0):,}: the file is cut short, or its header is damaged"
        )
    return shape, fortran, dtype, head.tell()


def _elsewhere(array: Array) -> Array:
    return replace(array, parts=tuple(part._replace(begin=-1) for part in array.parts))

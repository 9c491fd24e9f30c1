"""Compressed files as streams: gzip, zlib, bzip2, xz, Zstandard and LZ4, detected by their first bytes."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias, TypeVar

from penstock.core.checks import is_one_of
from penstock.core.errors import DataError, PlanError
from penstock.core.lazy import require
from penstock.kernels.files import WRITTEN_TO
from penstock.storage.local import advise_extents
from penstock.storage.remote.file import RemoteFile, are_remote, path_of_url

SUFFIXES: Mapping[str, str] = {
    "gz": "gzip", "bz2": "bz2", "xz": "xz", "zst": "zstd", "zstd": "zstd", "lz4": "lz4",
}  # fmt: skip
"""The compression for each extension of file names."""
_NAMES = ("gzip", "zlib", "bz2", "xz", "zstd", "lz4")
_LARGEST = 1 << 30
"""The largest size, in bytes, of a value that is decompressed as a whole."""

_MAGIC: Mapping[bytes, str] = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bz2",
    b"\xfd7zXZ\0": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\x04\x22\x4d\x18": "lz4",
}
_AT_ONCE = 1 << 17  # bytes read of a file
_HEAD_BYTES = 16  # that tell the compression
_MADE_AT_ONCE = 1 << 16  # bytes of content, lost if damaged inside
T = TypeVar("T")
_XZ_MEMORY = 1 << 29  # bytes; `xz -9` needs 65 MiB
_ZSTD_AT_ONCE = 1 << 12  # a block of four bytes may become 128 KiB, without a way to limit the output


class Decompressor(Protocol):
    """The interface of `bz2`, `lzma` and `lz4.frame`: `eof`, unused input, and a limit on the output of a call."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes | None: ...
    def decompress(self, data: bytes, /, max_length: int = -1) -> bytes: ...


def compression_of(head: bytes) -> str | None:
    r"""Return the compression that the first bytes of a file indicate; zlib has no certain mark.

    >>> compression_of(b"\x1f\x8b\x08\0"), compression_of(b"plain")
    ('gzip', None)
    """
    found = next((name for magic, name in _MAGIC.items() if head.startswith(magic)), None)
    if found is None and head[1:4] == b"\x2a\x4d\x18" and head[0] >> 4 == 5:  # a skippable frame, of zstd or lz4
        return "zstd"
    return found


def compressions_of(
    paths: Sequence[str], given: str | None, look: Callable[[str], str | None] | None = None
) -> list[str | None]:
    """Return the compression of each file: `given`, or the result of `look` if that is `"auto"`.

    `look` examines the first bytes, and returns `None` for a file that is not compressed. A file compressed by its name
    but not by its first bytes raises a `DataError`: now if all files are, otherwise when opened. A missing library is
    an error now.
    """
    if given != "auto":
        return _readable(paths, [given] * len(paths))
    look = look or (lambda path: compression_of(first_bytes(path)))
    if are_remote(paths):
        advise_extents((path, 0, _HEAD_BYTES) for path in paths)
    found = list(map(look, paths))
    named = [_named(path) if how is None else None for path, how in zip(paths, found, strict=True)]
    if paths and all(named):
        raise _misnamed(paths[0])
    return _readable(paths, [how or name for how, name in zip(found, named, strict=True)])


def _readable(paths: Sequence[str], compressions: list[str | None]) -> list[str | None]:
    """Return the compressions of the files; raise a `MissingDependencyError` if the library for one is missing."""
    for compression, path in dict(zip(compressions, paths, strict=True)).items():
        if compression is not None:
            _maker(compression, path)
    return compressions


def _named(path: str) -> str | None:
    """Return the compression that the name of a file indicates."""
    return SUFFIXES.get(path_of_url(path).rpartition(".")[2].lower())


def _misnamed(path: str) -> DataError:
    return DataError(
        f"{path}, at byte 0: its name ends in .{path.rpartition('.')[2]}, but its first bytes are not {_named(path)}: "
        "it is damaged, or not compressed; compression=None reads it as it is"
    )


def named_compression(call: str, given: object) -> str | None:
    """Return the value of a `compression=` argument: `"auto"`, a name in any case, or `None` or "" for none.

    >>> named_compression("read_tfrecord", "GZIP"), named_compression("read_tfrecord", "")
    ('gzip', None)
    """
    if is_one_of(given, None, ""):
        return None
    name = given.lower() if isinstance(given, str) else None
    if name not in ("auto", *_NAMES):
        raise PlanError(
            f"{call}(compression={given!r}): expected 'auto', None, or one of {', '.join(map(repr, _NAMES))}"
        )
    return name


def first_bytes(path: str, count: int = _HEAD_BYTES) -> bytes:
    """Return the first bytes of a file."""
    if isinstance(path, RemoteFile):
        from penstock.storage.remote.opened import RemoteReader

        return RemoteReader(path).head(count)
    with open(path, "rb", buffering=0) as file:
        return file.read(count)


def open_decompressed(path: str, compression: str | None = "auto") -> io.BufferedReader:
    """Return a binary file of the content, which is read from its beginning and cannot seek.

    `"auto"` follows the first bytes, `None` reads the file as it is. Damaged or truncated data raises a `DataError`
    that names the file and the place, after the content before has been read.
    """
    if compression == "auto":
        compression = compression_of(first_bytes(path))
    elif compression in _MAGIC.values() and compression == _named(path) and compression_of(first_bytes(path)) is None:
        raise _misnamed(path)
    if compression is None:
        return _UpToDamage(_raw(path), _AT_ONCE)
    make = _maker(compression, path)
    return _UpToDamage(_Decompressed(path, compression, make, _raw(path)), _AT_ONCE)


def decompress(data: bytes, compression: str, where: str, most: int = _LARGEST) -> bytes:
    """Return the content of compressed bytes; raise a `DataError` that names `where` if damaged or over `most` bytes.

    >>> import gzip
    >>> decompress(gzip.compress(b"abc"), "gzip", "x.gz")
    b'abc'
    """
    with _Decompressed(where, compression, _maker(compression, where), io.BytesIO(data)) as file:
        parts: list[bytes] = []
        size = 0
        while part := file.read(_AT_ONCE):
            parts.append(part)
            size += len(part)
            if size > most:
                raise DataError(f"{where}: its {len(data)} bytes of {compression} decompress to more than {most}")
        return b"".join(parts)


class _UpToDamage(io.BufferedReader):
    """A file whose `read(size)` returns the bytes before an error first, and raises the error on the next read."""

    _failure: Exception | None = None

    def read(self, size: int | None = -1, /) -> bytes:
        if size is None or size < 0:
            return super().read()
        parts: list[bytes] = []
        while size and self._failure is None:
            try:
                part = self.read1(size)
            except (DataError, OSError) as error:
                self._failure = error
                break
            if not part:
                break
            parts.append(part)
            size -= len(part)
        if size and not parts and self._failure is not None:
            raise self._failure
        return b"".join(parts)


class _Steady(io.FileIO):
    """A file that must not change between opening and the end of reading."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._state = self._now()

    def _now(self) -> tuple[int, int]:
        status = os.fstat(self.fileno())
        return status.st_size, status.st_mtime_ns

    def read(self, size: int | None = -1, /) -> bytes:
        return self._checked(super().read(size) or b"")

    def readinto(self, buffer: Any, /) -> int:
        count = super().readinto(buffer)
        self._checked(count)
        return count

    def _checked(self, made: T) -> T:
        if not made and self._now() != self._state:
            raise DataError(f"{self.name}: {WRITTEN_TO}")
        return made


def _raw(path: str) -> io.RawIOBase:
    """Return an unbuffered file, opened to read in order."""
    if isinstance(path, RemoteFile):
        from penstock.storage.remote.opened import RemoteReader

        return RemoteReader(path)
    return _Steady(path)


class _Decompressed(io.RawIOBase):
    """The content of one or several compressed streams, one after another in a file."""

    def __init__(self, path: str, compression: str, make: _Maker, file: io.RawIOBase | io.BytesIO) -> None:
        self._path = path
        self._compression = compression
        self._make = make
        self._decompressor: Decompressor | None = None
        self._file = file
        self._at_once = _ZSTD_AT_ONCE if compression == "zstd" else _AT_ONCE
        self._read = 0  # bytes of the file
        self._begun = 0  # the beginning of the current stream in the file
        self._left = b""  # bytes read but not used
        self._is_later = False  # true after the first stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")
        data = self._some(min(len(view), _MADE_AT_ONCE)) if len(view) else b""
        view[: len(data)] = data
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()

    def _some(self, most: int) -> bytes:
        """Return between one and `most` bytes; none at the end."""
        while True:
            decompressor = self._next_stream()
            if decompressor is None:
                return b""
            needs = decompressor.needs_input
            data = self._more() if needs else b""
            try:
                made = decompressor.decompress(data, max_length=most)
            except Exception as error:  # each library has its own errors
                raise DataError(f"{self._where()}: the {self._compression} data is damaged: {error}") from error
            if decompressor.eof:
                self._left = bytes(decompressor.unused_data or b"")
                self._decompressor = None
            elif needs and not data and not made:
                raise DataError(
                    f"{self._where()}: the file ends inside the {self._compression} stream that begins at byte "
                    f"{self._begun}: it was cut short, or is still being written"
                )
            if made:
                return made

    def _next_stream(self) -> Decompressor | None:
        """Return the current stream, or the next one; `None` at the end of the file."""
        if self._decompressor is None:
            data = self._more()
            while (
                self._is_later and data and not (data := data.lstrip(b"\0"))
            ):  # padding, between streams or at the end
                data = self._more()
            if not data:
                return None
            self._left, self._is_later = data, True
            self._begun = self._read - len(data)
            self._decompressor = self._make()
        return self._decompressor

    def _more(self) -> bytes:
        data, self._left = self._left, b""
        if not data:
            try:
                data = self._file.read(self._at_once) or b""
            except OSError as error:
                error.filename = self._path
                raise
            self._read += len(data)
        return data

    def _where(self) -> str:
        return f"{self._path}, at byte {self._read}"


class _Zlib:
    """`zlib` with the interface of the others."""

    def __init__(self, wbits: int) -> None:
        import zlib

        self._state = zlib.decompressobj(wbits)
        self._is_full = False

    @property
    def eof(self) -> bool:
        return self._state.eof

    @property
    def needs_input(self) -> bool:
        return not self._state.unconsumed_tail and not self._is_full

    @property
    def unused_data(self) -> bytes:
        return self._state.unused_data

    def decompress(self, data: bytes, /, max_length: int = -1) -> bytes:
        made = self._state.decompress(self._state.unconsumed_tail + data, max_length)
        self._is_full = len(made) == max_length  # more output may be pending
        return made


class _Zstd:
    """`zstandard` with the interface of the others: the output of one input is returned piece by piece."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._state = make()
        self._made = b""
        self._at = 0

    @property
    def eof(self) -> bool:
        return self._state.eof and self._at == len(self._made)

    @property
    def needs_input(self) -> bool:
        return not self._state.eof and self._at == len(self._made)

    @property
    def unused_data(self) -> bytes:
        return self._state.unused_data

    def decompress(self, data: bytes, /, max_length: int = -1) -> bytes:
        if self._at == len(self._made):
            self._made, self._at = self._state.decompress(data) if data else b"", 0
        begin, self._at = self._at, min(self._at + max_length, len(self._made))
        return self._made[begin : self._at]


_Maker: TypeAlias = Callable[[], Decompressor]


def _maker(compression: str, path: str) -> _Maker:
    """Return the function that makes the decompressor of one stream."""
    if compression in ("gzip", "zlib"):
        return lambda: _Zlib(31 if compression == "gzip" else 15)
    if compression == "bz2":
        from bz2 import BZ2Decompressor

        return BZ2Decompressor
    if compression == "xz":
        from lzma import LZMADecompressor

        return lambda: LZMADecompressor(memlimit=_XZ_MEMORY)
    purpose = f"reading {path}"
    if compression == "zstd":
        make = require("zstandard", extra="compression", purpose=purpose).ZstdDecompressor
        return lambda: _Zstd(make().decompressobj)
    if compression == "lz4":
        return require("lz4.frame", extra="compression", purpose=purpose).LZ4FrameDecompressor
    raise ValueError(f"unknown compression {compression!r}")

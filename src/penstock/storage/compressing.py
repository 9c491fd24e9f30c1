"""Compress files while writing: gzip and zlib as one stream, Zstandard in frames with a table of frames."""

from __future__ import annotations

import os
from typing import IO, Any, Protocol

import numpy as np

from penstock.core.errors import PlanError
from penstock.core.lazy import require
from penstock.storage.compression import SUFFIXES, named_compression
from penstock.storage.remote.file import path_of_url
from penstock.storage.seekable import Frames, seek_table

WRITTEN = ("gzip", "zlib", "zstd")
"""The supported compressions for writing."""
FRAME_BYTES = 1 << 20
"""Bytes of content in a frame: the amount that a random read has to decompress."""
_LARGEST = 1 << 26  # bytes of a frame; longer content continues in the next


class Writer(Protocol):
    """A file being written: `finish` writes all buffered bytes, and leaves closing to the opener."""

    def write(self, data: bytes, /) -> object: ...
    def tell(self) -> int: ...
    def finish(self) -> None: ...


class UncompressedFile:
    """A file written without compression."""

    def __init__(self, file: IO[bytes]) -> None:
        self.write = file.write
        self.tell = file.tell

    def finish(self) -> None:
        """Do nothing: there is no buffer."""


class Deflated:
    """A file in gzip or zlib; `tell` counts bytes of content. Equal contents give equal bytes, without a timestamp."""

    def __init__(self, file: IO[bytes], *, gzip: bool) -> None:
        import zlib

        self._file = file
        self._state = zlib.compressobj(wbits=31 if gzip else 15)
        self._count = 0

    def write(self, data: bytes, /) -> None:
        self._file.write(self._state.compress(data))
        self._count += len(data)

    def tell(self) -> int:
        return self._count

    def finish(self) -> None:
        self._file.write(self._state.flush())


class FramedZstd:
    """A file in zstd's seekable format. The data of one `write` stays in one frame, unless longer than 64 MiB.

    A frame has up to `frame_bytes` of content, or one longer piece.
    """

    def __init__(self, file: IO[bytes], frame_bytes: int) -> None:
        zstandard = _zstandard()
        self._file = file
        self._compressor = zstandard.ZstdCompressor(write_checksum=True, write_content_size=True)
        self._frame_bytes = frame_bytes
        self._held: list[bytes] = []
        self._size = 0  # bytes buffered
        self._sizes: list[tuple[int, int]] = []  # of each frame, compressed and not
        self._count = 0

    def write(self, data: bytes, /) -> None:
        if self._size + len(data) > self._frame_bytes:
            self._end_frame()
        self._held.append(data)
        self._size += len(data)
        self._count += len(data)

    def tell(self) -> int:
        return self._count

    def finish(self) -> None:
        self._end_frame()
        self._file.write(seek_table(self._sizes))

    @property
    def frames(self) -> Frames:
        """The begin of each frame, in the file and in its content."""
        ends = np.cumsum([(0, 0), *self._sizes], axis=0, dtype=np.int64)
        return Frames(np.ascontiguousarray(ends[:, 0]), np.ascontiguousarray(ends[:, 1]))

    def _end_frame(self) -> None:
        content = b"".join(self._held)
        self._held.clear()
        self._size = 0
        for low in range(0, len(content), _LARGEST):
            part = content[low : low + _LARGEST]
            frame = self._compressor.compress(part)
            self._file.write(frame)
            self._sizes.append((len(frame), len(part)))


def open_writer(file: IO[bytes], compression: str | None) -> Writer:
    """Return a writer of content to a file with this compression, or none for `None`."""
    if compression is None:
        return UncompressedFile(file)
    return FramedZstd(file, FRAME_BYTES) if compression == "zstd" else Deflated(file, gzip=compression == "gzip")


def written_compression(call: str, given: Any, path: str | os.PathLike[str]) -> str | None:
    """Return the value of a writer's `compression=` argument: `"auto"` follows the extension of the path.

    >>> written_compression("write_tfrecord", "auto", "a.tfrecord.gz"), written_compression("w", "ZSTD", "a")
    ('gzip', 'zstd')
    """
    found = named_compression(call, given)
    if found == "auto":
        found = SUFFIXES.get(path_of_url(os.fspath(path)).rpartition(".")[2].lower())
    if found not in (None, *WRITTEN):
        raise PlanError(f"{call} writes {', '.join(WRITTEN)} or uncompressed files, not {found}")
    if found == "zstd":
        _zstandard()  # before any element is made
    return found


def _zstandard() -> Any:
    return require("zstandard", extra="compression", purpose="writing zstd")

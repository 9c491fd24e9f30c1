"""Zstandard files of frames with a table at the end: any frame can be decompressed alone.

The format is zstd's own "seekable format" (contrib/seekable_format in its sources).
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from penstock.core.arrays import Rows
from penstock.core.errors import DataError
from penstock.core.lazy import require
from penstock.storage.local import Extent, advise_extents, file_size, read_extent

LARGEST_FRAME = 1 << 28
"""The largest content of a frame, in bytes; a file with a larger frame is read as a stream."""
_FOOTER = struct.Struct("<IBI")  # number of frames, checksum flag, magic
_MAGIC = 0x8F92EAB1
_SKIPPABLE = struct.Struct("<II")  # magic, bytes
_TABLE = 0x184D2A5E
_TAIL_BYTES = 1 << 14  # read at once: the table of some 2,000 frames
_HAS_CHECKSUMS, _RESERVED = 0x80, 0x7C
_MOST_OF_ONE_BYTE = 1 << 15
"""The largest compression ratio: a block has at most 128 KiB of content, and takes at least four bytes."""


class Frames(NamedTuple):
    """The begin of each frame, and the end of the last, in the file and in its content: both `int64[n + 1]`."""

    compressed: Rows
    content: Rows


def frames_of(path: str) -> Frames | None:
    """Return the frames of a local or remote file, or `None` if it has no valid table."""
    size = file_size(path)
    tail = read_extent(*_tail_of(path, size))
    if len(tail) < _FOOTER.size + _SKIPPABLE.size:
        return None
    count, descriptor, magic = _FOOTER.unpack(tail[-_FOOTER.size :])
    words = 3 if descriptor & _HAS_CHECKSUMS else 2
    begin = size - _FOOTER.size - 4 * words * count - _SKIPPABLE.size
    if magic != _MAGIC or descriptor & _RESERVED or begin < 0:
        return None
    whole = tail[begin - size :] if size - begin <= len(tail) else read_extent(path, begin, size)
    head, table = whole[: _SKIPPABLE.size], whole[_SKIPPABLE.size : -_FOOTER.size]
    if _SKIPPABLE.unpack(head) != (_TABLE, len(table) + _FOOTER.size):
        return None
    sizes = np.frombuffer(table, "<u4").reshape(count, words).astype(np.int64)
    compressed, content = (np.concatenate([[0], np.cumsum(sizes[:, i])]).astype(np.int64) for i in (0, 1))
    if compressed[-1] != begin or sizes[:, 1].max(initial=0) > LARGEST_FRAME:
        return None
    return Frames(compressed, content)


def advise_tables(paths: Iterable[str]) -> None:
    """Ask the system to begin to read the tables of files, for `frames_of`."""
    advise_extents(_tail_of(path, file_size(path)) for path in paths)


def _tail_of(path: str, size: int) -> Extent:
    """Return the end of a file, which has the whole table unless there are very many frames."""
    return path, max(size - _TAIL_BYTES, 0), size


def seek_table(sizes: Sequence[tuple[int, int]]) -> bytes:
    """Return the table for frames of these sizes, compressed and uncompressed.

    >>> len(seek_table([(20, 100), (25, 120)]))
    33
    """
    table = np.array(sizes, "<u4").tobytes() + _FOOTER.pack(len(sizes), 0, _MAGIC)
    return _SKIPPABLE.pack(_TABLE, len(table)) + table


def decompressed_frame(path: str, frames: Frames, number: int) -> NDArray[np.uint8]:
    """Return the content of one frame; raise a `DataError` that names the file and the place if damaged."""
    zstandard = require("zstandard", extra="compression", purpose=f"reading {path}")
    begin, end = int(frames.compressed[number]), int(frames.compressed[number + 1])
    size = int(frames.content[number + 1] - frames.content[number])
    data = read_extent(path, begin, end)
    where = f"{path}: the zstd frame {number}, at byte {begin}"
    if len(data) < end - begin:
        raise DataError(f"{where}: the file ends inside it: it was cut short")
    if size > len(data) * _MOST_OF_ONE_BYTE:  # checked before memory is allocated
        raise DataError(f"{where}: its {len(data)} bytes cannot decompress to the {size} of the table of frames")
    try:
        told = zstandard.get_frame_parameters(data).content_size
        unknown = zstandard.CONTENTSIZE_UNKNOWN
        content = b"" if told not in (size, unknown) or not size else _decompress(zstandard, data, size)
    except zstandard.ZstdError as error:
        raise DataError(f"{where}: it is damaged: {error}") from None
    if len(content) != size:
        raise DataError(f"{where}: its content does not have the {size} bytes of the table of frames")
    return np.frombuffer(content, np.uint8)


def _decompress(zstandard: object, data: bytes, size: int) -> bytes:
    return zstandard.ZstdDecompressor().decompress(data, max_output_size=size)  # type: ignore[attr-defined]

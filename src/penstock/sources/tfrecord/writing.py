"""Write records into TFRecord files."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.core.errors import ElementError
from penstock.kernels.records import masked_crc32c
from penstock.sources.tfrecord.files import TFRECORD
from penstock.sources.tfrecord.seekable import TFRECORD_ZSTD
from penstock.storage.compressing import FramedZstd, UncompressedFile, Writer
from penstock.storage.shards import Shards

_LENGTH = struct.Struct("<Q")
_CHECKSUM = struct.Struct("<I")


def framed(record: Any) -> bytes:
    """Return a record in the format of TFRecord files: length and content, each with its masked CRC-32C.

    >>> len(framed(b"abc"))
    19
    """
    length = _LENGTH.pack(len(record))
    return b"".join((length, _CHECKSUM.pack(masked_crc32c(length)), record, _CHECKSUM.pack(masked_crc32c(record))))


def write_record_files(
    records: Iterable[Any],
    path: str | os.PathLike[str],
    *,
    max_bytes: int | None,
    overwrite: bool,
    index: bool,
    compression: str | None = None,
) -> list[str]:
    """Write `records`, which are `bytes`, and return the paths of the files; see `Dataset.write_tfrecord`."""
    offsets: list[list[int]] = []
    writers: list[Writer] = []
    with Shards(path, max_bytes=max_bytes, overwrite=overwrite, compression=compression) as shards:
        for number, record in enumerate(records):
            if not isinstance(record, (bytes, bytearray, memoryview)):
                raise ElementError(
                    f"write_tfrecord: element {number} is {type(record).__name__}, not bytes; "
                    "map it first, such as by ps.records.encode_example"
                )
            file, is_new = shards.open()
            if is_new:
                writers.append(file)
                offsets.append([0])
            file.write(framed(record))
            offsets[-1].append(file.tell())
        if not offsets:  # without records, write an empty file
            writers.append(shards.open()[0])
            offsets.append([0])
        shards.finish()
        if index:
            for shard, (writer, of_shard) in enumerate(zip(writers, offsets, strict=True)):
                _index(shards, shard, writer, np.array(of_shard, np.int64))
    return shards.names


def _index(shards: Shards, shard: int, writer: Writer, offsets: NDArray[np.int64]) -> None:
    """Write the index for random access to the records of a shard, if possible."""
    if isinstance(writer, FramedZstd):
        shards.index(shard, TFRECORD_ZSTD, {"offsets": offsets, **writer.frames._asdict()})
    elif isinstance(writer, UncompressedFile):
        shards.index(shard, TFRECORD, {"offsets": offsets})

"""Write records into TFRecord files."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable
from typing import Any

import numpy as np

from penstock.core.errors import ElementError
from penstock.kernels.records import masked_crc32c
from penstock.sources.tfrecord import TFRECORD
from penstock.storage.shards import Shards

_LENGTH = struct.Struct("<Q")
_CHECKSUM = struct.Struct("<I")


def framed(record: Any) -> bytes:
    """Return a record as it lies in a TFRecord file: its length, and both with their masked CRC-32C.

    >>> len(framed(b"abc"))
    19
    """
    length = _LENGTH.pack(len(record))
    return b"".join((length, _CHECKSUM.pack(masked_crc32c(length)), record, _CHECKSUM.pack(masked_crc32c(record))))


def write(
    records: Iterable[Any], path: str | os.PathLike[str], *, max_bytes: int | None, overwrite: bool, index: bool
) -> list[str]:
    """Write each of `records`, `bytes`, and return the paths of the files; see `ps.write_tfrecord`."""
    offsets: list[list[int]] = []
    with Shards(path, max_bytes=max_bytes, overwrite=overwrite) as shards:
        for number, record in enumerate(records):
            if not isinstance(record, (bytes, bytearray, memoryview)):
                raise ElementError(
                    f"write_tfrecord: element {number} is {type(record).__name__}, and a record is bytes; "
                    "map it first, as by ps.records.encode_example"
                )
            file, is_new = shards.open()
            if is_new:
                offsets.append([0])
            file.write(framed(record))
            offsets[-1].append(file.tell())
        if not offsets:  # no records are a file without any
            shards.open()
            offsets.append([0])
        if index:
            for shard, of_shard in enumerate(offsets):
                shards.index(shard, TFRECORD, {"offsets": np.array(of_shard, np.int64)})
    return shards.names

"""TFRecord files that are compressed as a whole: their records in order."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from typing import Any

from penstock.core.cached import cached_property
from penstock.core.errors import DataError
from penstock.core.frozen import frozen
from penstock.elements.chunks.chunk import Chunk, Columns
from penstock.elements.nested.structure import LEAF
from penstock.elements.spec import ObjectSpec, Spec
from penstock.kernels.records import BAD_CHECKSUM, masked_crc32c, scan_tfrecord_bytes
from penstock.sources.stream import LARGEST, READ_AT_ONCE, content_of_files, with_faults
from penstock.storage.compression import compression_of, first_bytes, open_decompressed

_HEAD = struct.Struct("<QI")


@frozen(eq=False)
class TfRecordStream:
    """The records of some TFRecord files as `bytes`, each file decompressed by `compressions[i]`, if not `None`."""

    paths: list[str]
    compressions: list[str | None]
    name: str
    verify: bool = True

    def spec(self) -> Spec:
        return ObjectSpec(bytes)

    def read(self, file: int, /) -> Iterator[Chunk]:
        path = self.paths[file]
        buffer, offset, number = b"", 0, 0  # the buffer, its position in the content, and its first record
        missing = READ_AT_ONCE
        with open_decompressed(path, self.compressions[file]) as content:
            while True:
                more = content.read(missing)
                buffer += more
                offsets, problem = scan_tfrecord_bytes(buffer, verify=self.verify)
                ends = offsets.tolist()
                if problem and _has_whole_length(buffer, ends[-1]):
                    offsets, problem = scan_tfrecord_bytes(buffer, verify=False)
                    ends = offsets.tolist()
                    yield from with_faults(len(ends) - 1, partial(self._verified, buffer, ends, path, number, offset))
                elif len(ends) > 1:
                    records = [buffer[begin + 12 : end - 4] for begin, end in pairwise(ends)]
                    yield Columns(LEAF, [records], len(records))
                number += len(ends) - 1
                buffer = buffer[ends[-1] :]
                offset += ends[-1]
                if problem or (buffer and not more):
                    reason = problem or "the file ends inside it: it was cut short, or is still being written"
                    raise DataError(f"{path}: record {number}, at byte {offset} of its content: {reason}")
                if not more:
                    return
                missing = self._missing(buffer, f"{path}: record {number}, at byte {offset} of its content")

    def _verified(
        self, buffer: bytes, ends: list[int], path: str, number: int, offset: int, low: int, high: int
    ) -> Columns:
        """Yield records `low` to `high` of the buffer, each checked: lengths are valid, contents may be damaged."""
        for at in range(low, high):
            content, stored = buffer[ends[at] + 12 : ends[at + 1] - 4], buffer[ends[at + 1] - 4 : ends[at + 1]]
            if masked_crc32c(content) != int.from_bytes(stored, "little"):
                where = f"{path}: record {number + at}, at byte {offset + ends[at]} of its content"
                error = DataError(f"{where}: {BAD_CHECKSUM}; ds.ignore_errors() continues with the next")
                error.element = at - low
                raise error
        records = [buffer[begin + 12 : end - 4] for begin, end in pairwise(ends[low : high + 1])]
        return Columns(LEAF, [records], len(records))

    def _missing(self, buffer: bytes, where: str) -> int:
        """Return the number of bytes to read: at most the number of buffered bytes, however large a length may be."""
        if len(buffer) < _HEAD.size:
            return READ_AT_ONCE
        length = int(_HEAD.unpack_from(buffer)[0])
        if length > LARGEST:
            raise DataError(f"{where}: it has {length} bytes; records of compressed files may have at most {LARGEST}")
        return min(max(length + 16 - len(buffer), READ_AT_ONCE), max(len(buffer), READ_AT_ONCE))

    def fingerprint(self) -> tuple[Any, ...]:
        """Return a digest of the sizes and content of the files."""
        return self._fingerprint

    @cached_property
    def _fingerprint(self) -> tuple[Any, ...]:
        return ("tfrecord stream", content_of_files(self.paths))


def _has_whole_length(buffer: bytes, at: int) -> bool:
    """Return whether the length of a bad record is valid, so that the next record can be found."""
    return masked_crc32c(buffer[at : at + 8]) == _HEAD.unpack_from(buffer, at)[1]


def compression_of_tfrecord(path: str) -> str | None:
    """Return the compression of a TFRecord file, by its first bytes.

    A file that begins with a record's length and matching checksum is not compressed, whatever else the bytes look
    like.
    """
    head = first_bytes(path)
    if len(head) >= _HEAD.size and masked_crc32c(head[:8]) == _HEAD.unpack_from(head)[1]:
        return None
    found = compression_of(head)
    if found is None and len(head) >= 2 and head[0] & 0x0F == 8 and (head[0] << 8 | head[1]) % 31 == 0:
        return "zlib"
    return found

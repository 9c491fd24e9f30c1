"""LitData's chunks that are compressed inside: in frames of several samples, or each sample separately."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Mapping
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.core.arrays import Rows
from penstock.core.cached import cached_property
from penstock.core.errors import DataError
from penstock.core.frozen import frozen
from penstock.index.blocked import Blocks
from penstock.kernels.records import Framing, RecordReader
from penstock.sources.shards.files import SAMPLE_CACHE_BYTES, PackedShards, PlainShards, ShardSamples, shard_faults
from penstock.storage.compression import decompress
from penstock.storage.indexing import IndexKind, index_files
from penstock.storage.local import read_extent
from penstock.storage.records import open_records
from penstock.storage.sidecar import Sidecar
from penstock.storage.soundness import Arrays, are_offsets, are_within, has_form

_MAGIC = b"LDFZ01\0\0"
_MOST = 1 << 33  # each number of its tables has 32 bits
_HEAD = struct.Struct("<8sHHIII")  # magic, version, flags, samples, samples per frame, frames
_FRAME = np.dtype([("first", "<u4"), ("samples", "<u4"), ("begin", "<u8"), ("size", "<u4"), ("content", "<u4")])


def scan_frames(path: str, seen: Callable[[int], None]) -> Mapping[str, NDArray[Any]]:
    """Return the begins of samples in the content, and the first sample, begin, size and content size of each frame."""
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        head = file.read(_HEAD.size)
        if len(head) < _HEAD.size or not head.startswith(_MAGIC):
            raise DataError(f"{path}, at byte 0: this is not a chunk of zstd frames")
        _, version, _, samples, _, count = _HEAD.unpack(head)
        end = _HEAD.size + 4 * (samples + 1) + _FRAME.itemsize * count
        if version != 1 or end > size:  # checked before memory is allocated
            raise DataError(
                f"{path}, at byte 8: version {version}, and {samples} samples in {count} frames, whose tables would "
                f"take {end} bytes of {size}"
            )
        tables = file.read(end - _HEAD.size)
    if len(tables) < end - _HEAD.size:
        raise DataError(f"{path}, at byte {_HEAD.size + len(tables)}: the file was cut short while it was read")
    offsets = np.frombuffer(tables, "<u4", samples + 1).astype(np.int64)
    frames = np.frombuffer(tables, _FRAME, count, 4 * (samples + 1))
    table = np.empty((count + 1, 4), np.int64)
    for column, name in enumerate(("first", "begin", "size", "content")):
        table[:count, column] = np.minimum(frames[name], size) if name == "begin" else frames[name]
    table[count] = samples, size, 0, 0
    _check(path, offsets, table, frames["samples"].astype(np.int64), end)
    return {"offsets": offsets, "frames": table}


def _check(path: str, offsets: Rows, table: NDArray[np.int64], samples: Rows, end: int) -> None:
    """Raise a `DataError` if the tables do not fit each other, or the file."""
    if (at := _misfit(offsets, table, samples, end)) is not None:
        raise DataError(
            f"{path}, at byte {end - _FRAME.itemsize * (len(table) - 1 - at)}: frame {at} of its table is damaged"
        )
    if len(wrong := np.flatnonzero(np.diff(offsets) < 0)):
        raise DataError(f"{path}, at byte {_HEAD.size + 4 * int(wrong[0])}: the table of its samples is damaged")


def _misfit(offsets: Rows, table: NDArray[np.int64], samples: Rows, end: int) -> int | None:
    """Return the first frame that does not fit the samples, the frames before, or the file after byte `end`."""
    first, begin, size, content = table[:-1].T
    held = offsets[np.minimum(table[1:, 0], len(offsets) - 1)] - offsets[np.minimum(first, len(offsets) - 1)]
    follows = np.concatenate([[end], (begin + size)[:-1]]) <= begin
    bad = (
        (first + samples != table[1:, 0]) | ~follows | (begin + size > table[-1, 1]) | (held != content) | (samples < 1)
    )
    if (len(first) and first[0]) or (not len(first) and len(offsets) > 1) or offsets[0] or bad.any():
        return int(np.flatnonzero(bad)[0]) if bad.any() else 0
    return None


def _is_sound(arrays: Arrays, size: int) -> bool:
    if not are_offsets(arrays, _MOST, "offsets") or not has_form(arrays, np.int64, {"frames": (None, 4)}):
        return False
    offsets, table = arrays["offsets"], arrays["frames"]
    if not len(table) or not are_within(table, _MOST) or not are_within(table[:, 1], size):
        return False
    last = table[-1].tolist()
    fits = last[0] == len(offsets) - 1 and last[1] == size
    return fits and _misfit(offsets, table, np.diff(table[:, 0]), 0) is None


FRAMES = IndexKind("litdata-frames", scan_frames, _is_sound)


@frozen(eq=False)
class FramedShards(PackedShards):
    """Chunks in zstd frames of some samples each: reading a sample decompresses its frame."""

    @cached_property
    def _sidecars(self) -> list[Sidecar]:
        return index_files([shard.path for shard in self.shards], FRAMES, tolerant=True)

    @property
    def faults(self) -> Mapping[int, Exception]:
        """Faults of chunks, by number: each is the error of all samples of the chunk according to index.json."""
        return self._faults

    @cached_property
    def _faults(self) -> Mapping[int, Exception]:
        return shard_faults(self.shards, self._sidecars, [len(one.arrays["offsets"]) - 1 for one in self._sidecars])

    @cached_property
    def _tables(self) -> list[NDArray[np.int64]]:
        """The frames of each chunk, as in `scan_frames`; one for all samples of a chunk with a fault."""
        lost = [np.array([[0] * 4, [shard.samples, 0, 0, 0]], np.int64) for shard in self.shards]
        return [
            lost[chunk] if chunk in self.faults else sidecar.arrays["frames"]
            for chunk, sidecar in enumerate(self._sidecars)
        ]

    @property
    def length(self) -> int:
        return sum(shard.samples for shard in self.shards)

    @cached_property
    def _starts(self) -> Rows:
        """The first frame of each chunk, and the total number."""
        return np.cumsum([0, *(len(table) - 1 for table in self._tables)])

    @cached_property
    def bounds(self) -> Rows:
        """The first sample of each frame, and the total number."""
        starts = np.cumsum([0, *(shard.samples for shard in self.shards)])
        firsts = [table[:-1, 0] for table in self._tables]
        found = [start + first for start, first in zip(starts.tolist(), firsts, strict=False)]
        return np.concatenate([*found, starts[-1:]]).astype(np.int64)

    def blocks(self) -> Blocks | None:
        largest = max((int(table[:, 3].max()) for table in self._tables), default=1)
        window = max(SAMPLE_CACHE_BYTES // 2 // max(largest, 1), 1)
        return Blocks(self.bounds, window) if len(self.bounds) > 1 else None

    def load(self, piece: int) -> ShardSamples:
        chunk = int(np.searchsorted(self._starts, piece, side="right")) - 1
        if chunk in self.faults:
            raise copy(self.faults[chunk])  # notes belong to one raise
        path, arrays, number = self.shards[chunk].path, self._sidecars[chunk].arrays, piece - int(self._starts[chunk])
        first, begin, size, content = arrays["frames"][number].tolist()
        data = read_extent(path, begin, begin + size)
        self._sidecars[chunk].check(path)
        where = f"{path}: the zstd frame {number}, at byte {begin}"
        found = decompress(data, "zstd", where, most=content)
        if len(found) != content:
            raise DataError(f"{where}: it holds {len(found)} bytes; its table says {content}")
        last = int(arrays["frames"][number + 1, 0])
        return ShardSamples(found, arrays["offsets"][first : last + 1] - arrays["offsets"][first])

    def advise(self, rows: Rows) -> None:
        pieces = np.unique(self.bounds.searchsorted(rows, "right") - 1)
        self._compressed.advise(np.array(self._recent.missing(pieces.tolist()), np.int64))

    @cached_property
    def _compressed(self) -> RecordReader:
        """The frames as stored in the files."""
        tables = [table[:-1] for table in self._tables]
        begins = [np.ascontiguousarray(table[:, 1]) for table in tables]
        ends = [np.ascontiguousarray(table[:, 1] + table[:, 2]) for table in tables]
        sizes = [sidecar.stamp.size for sidecar in self._sidecars]
        paths, times = [shard.path for shard in self.shards], [None] * len(self.shards)
        return open_records(paths, begins, ends, sizes, times, framing=Framing.PLAIN)


@frozen(eq=False)
class SampledShards(PlainShards):
    """Chunks whose samples are compressed one by one, in zstd."""

    def read(self, rows: Rows) -> list[bytes]:
        samples: list[bytes] = []
        try:
            for data, row in zip(super().read(rows), rows.tolist(), strict=True):
                samples.append(decompress(data, "zstd", self.describe(row)))
        except DataError as error:
            error.element = len(samples) if error.element is None else error.element
            raise
        return samples

    def __reduce__(self) -> Any:
        return SampledShards, (self.shards, self.kind)

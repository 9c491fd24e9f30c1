"""Files of samples that begin with a table of offsets, as MDS and LitData write; plain or compressed."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import IO, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from penstock.core.arrays import Rows
from penstock.core.cached import cached_property
from penstock.core.digest import hasher
from penstock.core.errors import DataError
from penstock.core.frozen import frozen
from penstock.index.blocked import Blocks
from penstock.kernels.records import Framing, RecordReader
from penstock.sources.records.files import RecordFiles
from penstock.storage.compression import decompress
from penstock.storage.indexing import IndexKind
from penstock.storage.local import advise_whole, read_whole
from penstock.storage.recent import Recent
from penstock.storage.records import open_records
from penstock.storage.sidecar import Sidecar, Stamp, check_mapped
from penstock.storage.soundness import Arrays, are_offsets
from penstock.storage.state import FileState, states_of

SAMPLE_CACHE_BYTES = 1 << 28
"""Default size, in bytes, of the cache of decompressed samples."""
TABLE = "the table of its samples"


class ShardFile(NamedTuple):
    """One file, as described by the index of its folder: number of samples, and uncompressed bytes with the table."""

    path: str
    samples: int
    nbytes: int
    compression: str | None = None


class Payloads(Protocol):
    """A reader of the bytes of samples, by number across all shards."""

    @property
    def length(self) -> int: ...
    @property
    def faults(self) -> Mapping[int, Exception]:
        """Faults of shards, by number, as far as known before samples are read."""
        ...

    @property
    def shards(self) -> Sequence[ShardFile]: ...

    def blocks(self) -> Blocks | None:
        """Return the blocks of samples that are decompressed together, if any."""
        ...

    def read(self, rows: Rows) -> list[bytes]: ...
    def advise(self, rows: Rows) -> None: ...
    def describe(self, row: int) -> str: ...
    def content(self) -> str:
        """Return a digest that identifies the files."""
        ...


def read_table(file: IO[bytes], size: int, where: str) -> NDArray[np.int64]:
    """Return the begin of each sample, and the end of the last, in a file of `size` bytes: `int64[n + 1]`.

    The file begins with n, followed by the n + 1 offsets, all `uint32`.
    """
    head = file.read(4)
    count = int.from_bytes(head, "little")
    begin = 4 * (count + 2)
    if len(head) < 4 or begin > size:  # checked before memory is allocated
        raise DataError(
            f"{where}, at byte 0: {TABLE} would have {count} entries and {begin} bytes, and the file has {size} bytes"
        )
    offsets = np.frombuffer(file.read(begin - 4), "<u4").astype(np.int64)
    if len(offsets) != count + 1:
        raise DataError(f"{where}, at byte {4 * len(offsets)}: the file was cut short while it was read")
    wrong = np.flatnonzero(np.diff(offsets, prepend=begin) < 0)
    if len(wrong) or offsets[-1] != size:
        at = int(wrong[0]) if len(wrong) else count
        raise DataError(
            f"{where}, at byte {4 * (at + 1)}: {TABLE} is damaged: sample {at} begins at byte {int(offsets[at])}"
            if at < count
            else f"{where}, at byte {4 * (at + 1)}: {TABLE} ends at byte {int(offsets[at])}, and the file has {size} "
            "bytes: it was cut short, or is damaged"
        )
    return offsets


def scan_table(path: str, seen: Callable[[int], None]) -> Mapping[str, NDArray[Any]]:
    """Return the index of a shard that is not compressed."""
    with open(path, "rb") as file:
        return {"offsets": read_table(file, os.fstat(file.fileno()).st_size, path)}


def has_table(arrays: Arrays, size: int) -> bool:
    """Return whether an index is a possible result of `scan_table`."""
    return are_offsets(arrays, size, "offsets") and arrays["offsets"][-1] == size


@frozen(eq=False)
class PlainShards:
    """Uncompressed shards, mapped, with random access to samples."""

    shards: Sequence[ShardFile]
    kind: IndexKind

    @property
    def length(self) -> int:
        return sum(shard.samples for shard in self.shards)

    def blocks(self) -> Blocks | None:
        return None

    @cached_property
    def _files(self) -> RecordFiles:
        return RecordFiles([shard.path for shard in self.shards], self.kind, Framing.PLAIN, self.kind.format)

    @property
    def faults(self) -> Mapping[int, Exception]:
        """Faults of shards, by number: each is the error of all samples of the shard according to index.json."""
        return self._faults

    @cached_property
    def _faults(self) -> Mapping[int, Exception]:
        sidecars, offsets = self._files.sidecars, self._files.offsets
        looked = {
            number: _wrong_with(*each) for number, each in enumerate(zip(self.shards, sidecars, offsets, strict=True))
        }
        return {number: error for number, error in looked.items() if error is not None}

    @cached_property
    def _reader(self) -> RecordReader:
        """The reader of the samples of the shards without a fault."""
        sidecars, nothing = self._files.sidecars, np.zeros(1, np.int64)
        offsets = [nothing if i in self.faults else of_shard for i, of_shard in enumerate(self._files.offsets)]
        check_mapped(sidecars)
        return open_records(
            [shard.path for shard in self.shards],
            [of_shard[:-1] for of_shard in offsets],
            [of_shard[1:] for of_shard in offsets],
            [sidecar.stamp.size for sidecar in sidecars],
            [sidecar.time for sidecar in sidecars],
        )

    @cached_property
    def _starts(self) -> Rows:
        """The first sample of each shard, and the total number."""
        return np.cumsum([0, *(shard.samples for shard in self.shards)], dtype=np.int64)

    def _of_shards(self, rows: Rows) -> Rows:
        return self._starts.searchsorted(rows, "right") - 1

    def _sound(self, rows: Rows) -> Rows:
        """Return the reader's numbers for these rows, all of shards without a fault."""
        if not self.faults:
            return rows
        lost = [shard.samples * (number in self.faults) for number, shard in enumerate(self.shards)]
        return rows - np.cumsum([0, *lost])[self._of_shards(rows)]

    def _is_lost(self, rows: Rows) -> NDArray[np.bool_]:
        return np.isin(self._of_shards(rows), list(self.faults))

    def read(self, rows: Rows) -> list[bytes]:
        if self.faults and len(hits := np.flatnonzero(self._is_lost(rows))):
            error = copy(self.faults[int(self._of_shards(rows[hits[0]]))])  # notes belong to one raise
            error.element = int(hits[0])  # type: ignore[attr-defined] - tells which element failed
            raise error
        return self._reader.read(self._sound(rows))

    def advise(self, rows: Rows) -> None:
        self._reader.advise(self._sound(rows[~self._is_lost(rows)] if self.faults else rows))

    def describe(self, row: int) -> str:
        shard = int(self._starts.searchsorted(row, "right")) - 1
        sample = row - int(self._starts[shard])
        where = f"{self.shards[shard].path}, sample {sample}"
        return where if shard in self.faults else f"{where}, at byte {int(self._files.offsets[shard][sample])}"

    def content(self) -> str:
        return str(self._files.fingerprint())

    def __reduce__(self) -> Any:
        return PlainShards, (self.shards, self.kind)


class ShardSamples:
    """Consecutive samples: their bytes, the begin of each, and the end of the last."""

    def __init__(self, content: bytes, offsets: NDArray[np.int64]) -> None:
        self.content = content
        self.offsets = offsets
        self.nbytes = len(content) + offsets.nbytes


@frozen(eq=False)
class PackedShards:
    """Shards that are compressed as a whole: reading a sample decompresses its shard; recent ones are cached.

    A *piece* is the unit of decompression.
    """

    shards: Sequence[ShardFile]

    @property
    def faults(self) -> Mapping[int, Exception]:
        """None: shards are checked when decompressed."""
        return {}

    @property
    def length(self) -> int:
        return int(self.bounds[-1])

    @cached_property
    def bounds(self) -> Rows:
        """The first sample of each piece, and the total number."""
        return np.cumsum([0, *(shard.samples for shard in self.shards)], dtype=np.int64)

    def blocks(self) -> Blocks | None:
        bounds = np.unique(self.bounds)
        most = max((shard.nbytes for shard in self.shards), default=1)
        return Blocks(bounds, max(SAMPLE_CACHE_BYTES // 2 // max(most, 1), 1)) if len(bounds) > 1 else None

    def load(self, piece: int) -> ShardSamples:
        """Decompress a piece."""
        shard = self.shards[piece]
        (data,) = read_whole([shard.path])
        self._states[piece].check(shard.path)
        content = decompress(data, shard.compression or "", shard.path, most=shard.nbytes)
        if len(content) != shard.nbytes:
            raise DataError(f"{shard.path} decompresses to {len(content)} bytes; index.json says {shard.nbytes}")
        offsets = read_table(io.BytesIO(content), len(content), f"{shard.path}, decompressed")
        _check_count(shard, len(offsets) - 1)
        return ShardSamples(content, offsets)

    @cached_property
    def _states(self) -> list[FileState]:
        return states_of([shard.path for shard in self.shards])

    def read(self, rows: Rows) -> list[bytes]:
        pieces = (self.bounds.searchsorted(rows, "right") - 1).tolist()
        wanted: dict[int, list[int]] = {}  # the rows in each piece
        for i, piece in enumerate(pieces):
            wanted.setdefault(piece, []).append(i)
        samples = [b""] * len(pieces)
        try:
            for piece, found in self._recent.each(wanted):
                content, offsets, first = found.content, found.offsets, int(self.bounds[piece])
                for i in wanted[piece]:
                    at = int(rows[i]) - first
                    samples[i] = content[offsets[at] : offsets[at + 1]]
        except (DataError, OSError) as error:
            error.element = wanted[getattr(error, "piece", next(iter(wanted)))][0]  # type: ignore[union-attr]
            raise
        return samples

    def advise(self, rows: Rows) -> None:
        pieces = np.unique(self.bounds.searchsorted(rows, "right") - 1).tolist()
        advise_whole([self.shards[piece].path for piece in self._recent.missing(pieces)])

    def describe(self, row: int) -> str:
        starts = np.cumsum([0, *(shard.samples for shard in self.shards)])
        shard = int(starts.searchsorted(row, "right")) - 1
        return f"{self.shards[shard].path}, sample {row - int(starts[shard])}"

    def content(self) -> str:
        """Return a digest of the sizes and content of the files."""
        return self._content

    @cached_property
    def _content(self) -> str:
        hashed = hasher()
        for shard in self.shards:
            stamp = Stamp.of(shard.path)
            hashed.update(f"{stamp.size} {stamp.digest} ".encode())
        return hashed.hexdigest()

    @cached_property
    def _recent(self) -> Recent[ShardSamples]:
        return Recent(self._loaded, SAMPLE_CACHE_BYTES)

    def _loaded(self, piece: int) -> ShardSamples:
        try:
            return self.load(piece)
        except (DataError, OSError) as error:
            error.piece = piece  # type: ignore[union-attr] - the caller knows which samples failed
            raise

    def __reduce__(self) -> Any:
        return type(self), (self.shards,)


def _wrong_with(shard: ShardFile, sidecar: Sidecar, offsets: NDArray[np.int64]) -> Exception | None:
    """Return the fault of an uncompressed shard, by its index."""
    if sidecar.fault is not None:
        return sidecar.fault
    if sidecar.stamp.size != shard.nbytes:
        return DataError(
            f"{shard.path} has {sidecar.stamp.size} bytes; index.json says {shard.nbytes}: it was cut short, is not "
            "copied completely, or belongs to another index"
        )
    return wrong_count(shard, len(offsets) - 1)


def shard_faults(
    shards: Sequence[ShardFile], sidecars: Sequence[Sidecar], samples: Sequence[int]
) -> Mapping[int, Exception]:
    """Return the faults of shards, by number, given the numbers of samples in their own indexes."""
    looked = enumerate(zip(shards, sidecars, samples, strict=True))
    found = {number: sidecar.fault or wrong_count(shard, count) for number, (shard, sidecar, count) in looked}
    return {number: error for number, error in found.items() if error is not None}


def wrong_count(shard: ShardFile, found: int) -> DataError | None:
    """Return the error of a shard whose number of samples differs from the folder's index."""
    if found == shard.samples:
        return None
    return DataError(f"{shard.path}, at byte 0: it has {found} samples; index.json says {shard.samples}")


def _check_count(shard: ShardFile, found: int) -> None:
    """Raise a `DataError` if a shard's number of samples differs from the folder's index."""
    if (error := wrong_count(shard, found)) is not None:
        raise error

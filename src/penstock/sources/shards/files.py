"""Files of samples that begin with a table of where each lies, as MDS and LitData write them; whole, or compressed."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import IO, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from penstock.core.arrays import Rows
from penstock.core.digest import hasher
from penstock.core.errors import DataError
from penstock.index.blocked import Blocks
from penstock.kernels import advise_files
from penstock.kernels.records import Framing, RecordReader
from penstock.sources.records.files import RecordFiles
from penstock.storage.compression import decompress
from penstock.storage.indexing import Kind
from penstock.storage.recent import Recent
from penstock.storage.sidecar import Sidecar, Stamp, check_mapped
from penstock.storage.soundness import Arrays, are_offsets
from penstock.storage.state import FileState, states_of

CACHE_BYTES = 1 << 28
"""Bytes of decompressed samples that are kept."""
TABLE = "the table of its samples"


class Shard(NamedTuple):
    """One file, as the index of its folder tells of it: samples, and bytes of them and their table, not compressed."""

    path: str
    samples: int
    nbytes: int
    compression: str | None = None


class Payloads(Protocol):
    """The bytes of samples, by their number over all shards."""

    @property
    def length(self) -> int: ...
    @property
    def faults(self) -> Mapping[int, Exception]:
        """Faults of shards, by their number, as far as it is known before samples are read."""
        ...

    def blocks(self) -> Blocks | None:
        """How they lie in blocks, where one is decompressed for any of its samples."""
        ...

    def read(self, rows: Rows) -> list[bytes]: ...
    def advise(self, rows: Rows) -> None: ...
    def describe(self, row: int) -> str: ...
    def content(self) -> str:
        """A digest of what identifies the files."""
        ...


def read_table(file: IO[bytes], size: int, where: str) -> NDArray[np.int64]:
    """Return where each sample begins, and the last ends, in a file of `size` bytes: `int64[n + 1]`.

    It begins with n, and then has those n + 1 offsets, all `uint32`.
    """
    head = file.read(4)
    count = int.from_bytes(head, "little")
    begin = 4 * (count + 2)
    if len(head) < 4 or begin > size:  # before memory is taken for it
        raise DataError(
            f"{where}, at byte 0: {TABLE} would have {count} of them, and {begin} bytes of the {size} that there are"
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
    """Whether an index is one that `scan_table` makes."""
    return are_offsets(arrays, size, "offsets") and arrays["offsets"][-1] == size


@dataclass(frozen=True, eq=False)
class PlainShards:
    """Shards that are not compressed: mapped, any sample at random."""

    shards: Sequence[Shard]
    kind: Kind

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
        """Faults of shards, by their number: each is the error of all samples that index.json says it has."""
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
        """Return what reads the samples of the shards that have no fault."""
        sidecars, nothing = self._files.sidecars, np.zeros(1, np.int64)
        offsets = [nothing if i in self.faults else of_shard for i, of_shard in enumerate(self._files.offsets)]
        check_mapped(sidecars)
        return RecordReader(
            [shard.path for shard in self.shards],
            [of_shard[:-1] for of_shard in offsets],
            [of_shard[1:] for of_shard in offsets],
            [sidecar.stamp.size for sidecar in sidecars],
            [sidecar.time for sidecar in sidecars],
        )

    @cached_property
    def _starts(self) -> Rows:
        """The first sample of each shard, and the number of all."""
        return np.cumsum([0, *(shard.samples for shard in self.shards)], dtype=np.int64)

    def _of_shards(self, rows: Rows) -> Rows:
        return self._starts.searchsorted(rows, "right") - 1

    def _sound(self, rows: Rows) -> Rows:
        """These rows, none of which is of a shard with a fault, as the reader numbers them."""
        if not self.faults:
            return rows
        lost = [shard.samples * (number in self.faults) for number, shard in enumerate(self.shards)]
        return rows - np.cumsum([0, *lost])[self._of_shards(rows)]

    def _is_lost(self, rows: Rows) -> NDArray[np.bool_]:
        return np.isin(self._of_shards(rows), list(self.faults))

    def read(self, rows: Rows) -> list[bytes]:
        if self.faults and len(hits := np.flatnonzero(self._is_lost(rows))):
            error = copy(self.faults[int(self._of_shards(rows[hits[0]]))])  # notes belong to one raise
            error.element = int(hits[0])  # type: ignore[attr-defined] - how a source says which it was
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


class Samples:
    """Some samples, one after another: their bytes, and where each begins and the last ends."""

    def __init__(self, content: bytes, offsets: NDArray[np.int64]) -> None:
        self.content = content
        self.offsets = offsets
        self.nbytes = len(content) + offsets.nbytes


@dataclass(frozen=True, eq=False)
class PackedShards:
    """Shards that are compressed as a whole: each is decompressed for any of its samples, and the last ones are kept.

    A *piece* is what is decompressed at a time.
    """

    shards: Sequence[Shard]

    @property
    def faults(self) -> Mapping[int, Exception]:
        """Nothing: shards are looked at when they are decompressed."""
        return {}

    @property
    def length(self) -> int:
        return int(self.bounds[-1])

    @cached_property
    def bounds(self) -> Rows:
        """The first sample of each piece, and the number of all."""
        return np.cumsum([0, *(shard.samples for shard in self.shards)], dtype=np.int64)

    def blocks(self) -> Blocks | None:
        bounds = np.unique(self.bounds)
        most = max((shard.nbytes for shard in self.shards), default=1)
        return Blocks(bounds, max(CACHE_BYTES // 2 // max(most, 1), 1)) if len(bounds) > 1 else None

    def load(self, piece: int) -> Samples:
        """Decompress a piece."""
        shard = self.shards[piece]
        with open(shard.path, "rb") as file:
            data = file.read()
        self._states[piece].check(shard.path)
        content = decompress(data, shard.compression or "", shard.path, most=shard.nbytes)
        if len(content) != shard.nbytes:
            raise DataError(f"{shard.path} becomes {len(content)} bytes, and {shard.nbytes} by index.json")
        offsets = read_table(io.BytesIO(content), len(content), f"{shard.path}, decompressed")
        check_count(shard, len(offsets) - 1)
        return Samples(content, offsets)

    @cached_property
    def _states(self) -> list[FileState]:
        return states_of([shard.path for shard in self.shards])

    def read(self, rows: Rows) -> list[bytes]:
        pieces = (self.bounds.searchsorted(rows, "right") - 1).tolist()
        wanted: dict[int, list[int]] = {}  # by piece, which of the rows lie in it
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
        advise_files([self.shards[piece].path for piece in pieces if piece not in self._recent])

    def describe(self, row: int) -> str:
        starts = np.cumsum([0, *(shard.samples for shard in self.shards)])
        shard = int(starts.searchsorted(row, "right")) - 1
        return f"{self.shards[shard].path}, sample {row - int(starts[shard])}"

    def content(self) -> str:
        """A digest of the sizes and content of the files."""
        return self._content

    @cached_property
    def _content(self) -> str:
        hashed = hasher()
        for shard in self.shards:
            stamp = Stamp.of(shard.path)
            hashed.update(f"{stamp.size} {stamp.digest} ".encode())
        return hashed.hexdigest()

    @cached_property
    def _recent(self) -> Recent[Samples]:
        return Recent(self._loaded, CACHE_BYTES)

    def _loaded(self, piece: int) -> Samples:
        try:
            return self.load(piece)
        except (DataError, OSError) as error:
            error.piece = piece  # type: ignore[union-attr] - for who asked, who knows which samples lie in it
            raise

    def __reduce__(self) -> Any:
        return type(self), (self.shards,)


def _wrong_with(shard: Shard, sidecar: Sidecar, offsets: NDArray[np.int64]) -> Exception | None:
    """Return what is wrong with a shard that is not compressed, by its index."""
    if sidecar.fault is not None:
        return sidecar.fault
    if sidecar.stamp.size != shard.nbytes:
        return DataError(
            f"{shard.path} has {sidecar.stamp.size} bytes, and {shard.nbytes} by index.json: it was cut short, is not "
            "copied to its end, or belongs to another index"
        )
    return wrong_count(shard, len(offsets) - 1)


def faults_of(shards: Sequence[Shard], sidecars: Sequence[Sidecar], samples: Sequence[int]) -> Mapping[int, Exception]:
    """Return what is wrong with shards, by their number, of which the indexes have these numbers of samples."""
    looked = enumerate(zip(shards, sidecars, samples, strict=True))
    found = {number: sidecar.fault or wrong_count(shard, count) for number, (shard, sidecar, count) in looked}
    return {number: error for number, error in found.items() if error is not None}


def wrong_count(shard: Shard, found: int) -> DataError | None:
    """Return the error of a shard that has another number of samples than the folder's index says."""
    if found == shard.samples:
        return None
    return DataError(f"{shard.path}, at byte 0: it has {found} samples, and {shard.samples} by index.json")


def check_count(shard: Shard, found: int) -> None:
    """Refuse a shard that has another number of samples than the folder's index says."""
    if (error := wrong_count(shard, found)) is not None:
        raise error

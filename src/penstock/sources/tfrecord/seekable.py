"""TFRecord files in seekable zstd: random access to records, decompressing one frame at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.core.arrays import Rows
from penstock.core.cached import cached_property
from penstock.core.errors import DataError
from penstock.core.frozen import frozen
from penstock.elements.chunks.chunk import Chunk, Columns
from penstock.elements.nested.structure import LEAF
from penstock.elements.spec import ObjectSpec, Spec
from penstock.index.blocked import Blocks
from penstock.kernels.records import ScanError, scan_tfrecord_bytes
from penstock.sources.records.files import content_of
from penstock.sources.tfrecord.stream import TfRecordStream
from penstock.storage.indexing import IndexKind, index_files
from penstock.storage.local import advise_extents
from penstock.storage.recent import Recent
from penstock.storage.seekable import LARGEST_FRAME, Frames, decompressed_frame, frames_of
from penstock.storage.sidecar import Sidecar, check_mapped
from penstock.storage.soundness import Arrays, are_offsets

_CACHE_BYTES = 1 << 28
"""Default size, in bytes, of the cache of decompressed frames."""
_HEAD, _TAIL = 12, 4  # bytes around a record
_MOST = 1 << 62  # bytes of content


def _scan(path: str, seen: Callable[[int], None]) -> Mapping[str, NDArray[Any]]:
    frames = frames_of(path)
    if frames is None:
        raise DataError(f"{path} no longer has a table of zstd frames; make the dataset again")
    ends = [np.zeros(1, np.int64)]
    failure: ScanError | None = None
    try:
        for chunk in TfRecordStream([path], ["zstd"], path, verify=False).read(0):
            sizes = np.array([len(record) for record in chunk.held()], np.int64)
            ends.append(ends[-1][-1] + np.cumsum(sizes + _HEAD + _TAIL))
            seen(int(frames.compressed[np.searchsorted(frames.content, ends[-1][-1], side="right") - 1]))
    except DataError as error:
        failure = ScanError(str(error))
    offsets = np.concatenate(ends)
    if failure is not None:
        failure.arrays = {"offsets": offsets, "compressed": frames.compressed, "content": frames.content}
        raise failure
    if offsets[-1] != frames.content[-1]:
        raise DataError(
            f"{path}: its table of zstd frames is damaged: it lists {int(frames.content[-1])} bytes of "
            f"content, and the file has {int(offsets[-1])}; zstd can still decompress it"
        )
    return {"offsets": offsets, "compressed": frames.compressed, "content": frames.content}


def _is_sound(arrays: Arrays, size: int) -> bool:
    if not are_offsets(arrays, size, "compressed") or not are_offsets(arrays, _MOST, "content", "offsets"):
        return False
    compressed, content, offsets = arrays["compressed"], arrays["content"], arrays["offsets"]
    begins_and_ends = compressed[0] == content[0] == offsets[0] == 0 and content[-1] == offsets[-1]
    frames_fit = len(compressed) == len(content) and np.diff(content).max(initial=0) <= LARGEST_FRAME
    return bool(begins_and_ends and frames_fit)


_NOTHING: Mapping[str, NDArray[Any]] = dict.fromkeys(("offsets", "compressed", "content"), np.zeros(1, np.int64))
TFRECORD_ZSTD = IndexKind("tfrecord-zstd", _scan, _is_sound, nothing=_NOTHING, is_checked=True)


@frozen(eq=False)
class SeekableRecords:
    """The records of some TFRecord files, in order, as `bytes`; recent frames are cached."""

    paths: list[str]
    name: str
    verify: bool = True

    @property
    def kind(self) -> IndexKind:
        """The kind of index."""
        return TFRECORD_ZSTD

    @cached_property
    def sidecars(self) -> list[Sidecar]:
        """The index of each file, made now if missing."""
        return index_files(self.paths, TFRECORD_ZSTD, tolerant=True)

    @cached_property
    def faults(self) -> Mapping[int, Exception]:
        """Faults of files, by number: each is the error of one record after those found."""
        return {file: sidecar.fault for file, sidecar in enumerate(self.sidecars) if sidecar.fault is not None}

    @cached_property
    def _lost(self) -> Rows:
        """The rows that represent the unreadable ends of files, in the order of `faults`."""
        return self._starts[1:][list(self.faults)] - 1

    @cached_property
    def _frames(self) -> list[Frames]:
        return [Frames(sidecar.arrays["compressed"], sidecar.arrays["content"]) for sidecar in self.sidecars]

    @cached_property
    def _starts(self) -> Rows:
        """The first record of each file, and the total number."""
        found = [len(sidecar.arrays["offsets"]) - 1 for sidecar in self.sidecars]
        return np.cumsum([0, *(count + (file in self.faults) for file, count in enumerate(found))])

    @property
    def file_starts(self) -> Rows:
        """The first record of each file."""
        return self._starts[:-1]

    @cached_property
    def _frame_starts(self) -> Rows:
        """The first frame of each file, and the total number."""
        return np.cumsum([0, *(len(frames.content) - 1 for frames in self._frames)])

    @cached_property
    def _recent(self) -> Recent[NDArray[np.uint8]]:
        return Recent(self._decompressed, _CACHE_BYTES)

    @property
    def length(self) -> int:
        return int(self._starts[-1])

    @cached_property
    def blocks(self) -> Blocks | None:
        """The blocks: each has the records that begin in one frame."""
        bounds = [self._starts[-1:]]
        for sidecar, frames, start in zip(self.sidecars, self._frames, self._starts.tolist(), strict=False):
            bounds.append(start + np.searchsorted(sidecar.arrays["offsets"][:-1], frames.content[:-1]))
        found = np.unique(np.concatenate([np.zeros(1, np.int64), *bounds]))
        check_mapped(self.sidecars)
        frame_bytes = max((int(np.diff(frames.content).max(initial=1)) for frames in self._frames), default=1)
        return Blocks(found, max(_CACHE_BYTES // 2 // max(frame_bytes, 1), 1)) if len(found) > 1 else None

    def spec(self) -> Spec:
        return ObjectSpec(bytes)

    def read_many(self, rows: Rows, out: list[NDArray[Any]] | None = None) -> Chunk:
        rows = np.asarray(rows, np.int64)
        if self.faults and len(hits := np.flatnonzero(np.isin(rows, self._lost))):
            file = int(np.searchsorted(self._starts, rows[hits[0]], side="right")) - 1
            error = copy(self.faults[file])  # notes belong to one raise
            error.element = int(hits[0])  # type: ignore[attr-defined] - tells which element failed
            raise error
        try:
            return self._read(rows)
        finally:
            check_mapped(self.sidecars)

    def _read(self, rows: Rows) -> Chunk:
        of = (np.searchsorted(self._starts, rows, side="right") - 1).tolist()
        spans = [self._span(file, row) for file, row in zip(of, rows.tolist(), strict=True)]
        wanted: dict[int, list[int]] = {}  # the elements in each frame
        for i, (file, begin, end) in enumerate(spans):
            for frame in self._frames_between(file, begin, end):
                wanted.setdefault(frame, []).append(i)
        parts: list[list[tuple[int, bytes]]] = [[] for _ in spans]
        try:
            for frame, content in self._recent.each(wanted):
                file, at = self._place(frame)
                first = int(self._frames[file].content[at])
                for i in wanted[frame]:
                    _, begin, end = spans[i]
                    parts[i].append((frame, content[max(begin - first, 0) : end - first].tobytes()))
        except DataError as error:
            error.element = wanted[getattr(error, "frame", next(iter(wanted)))][0]
            raise
        records = [self._record(i, b"".join(p for _, p in sorted(part)), int(rows[i])) for i, part in enumerate(parts)]
        return Columns(LEAF, [records], len(records))

    def _span(self, file: int, row: int) -> tuple[int, int, int]:
        offsets = self.sidecars[file].arrays["offsets"]
        at = row - int(self._starts[file])
        return file, int(offsets[at]), int(offsets[at + 1])

    def _frames_between(self, file: int, begin: int, end: int) -> range:
        content, start = self._frames[file].content, int(self._frame_starts[file])
        first = int(np.searchsorted(content, begin, side="right")) - 1
        return range(start + first, start + int(np.searchsorted(content, end, side="left")))

    def _place(self, frame: int) -> tuple[int, int]:
        file = int(np.searchsorted(self._frame_starts, frame, side="right")) - 1
        return file, frame - int(self._frame_starts[file])

    def _decompressed(self, frame: int) -> NDArray[np.uint8]:
        file, at = self._place(frame)
        try:
            content = decompressed_frame(self.paths[file], self._frames[file], at)
            self.sidecars[file].check(self.paths[file])
            return content
        except DataError as error:
            error.frame = frame  # type: ignore[attr-defined] - the caller knows which elements failed
            raise

    def _record(self, i: int, framed: bytes, row: int) -> bytes:
        """Return a record of a frame, checked."""
        offsets, problem = scan_tfrecord_bytes(framed, verify=self.verify)
        if problem or offsets.tolist() != [0, len(framed)]:
            error = DataError(f"{self.describe(row)}: {problem or 'it has changed since it was indexed'}")
            error.element = i
            raise error
        return framed[_HEAD:-_TAIL]

    def advise(self, rows: Rows) -> None:
        """Ask the system to begin to read the frames of the records at `rows`."""
        rows = rows[~np.isin(rows, self._lost)]
        of = (np.searchsorted(self._starts, rows, side="right") - 1).tolist()
        spans = (self._span(file, row) for file, row in zip(of, rows.tolist(), strict=True))
        wanted = self._recent.missing({frame for span in spans for frame in self._frames_between(*span)})
        advise_extents(map(self._extent, wanted))

    def _extent(self, frame: int) -> tuple[str, int, int]:
        file, at = self._place(frame)
        begin, end = self._frames[file].compressed[at : at + 2].tolist()
        return self.paths[file], begin, end

    def describe(self, row: int) -> str:
        file = int(np.searchsorted(self._starts, row, side="right")) - 1
        begin = int(self.sidecars[file].arrays["offsets"][row - int(self._starts[file])])
        return f"{self.paths[file]}, record {row - int(self._starts[file])}, at byte {begin} of its content"

    def fingerprint(self) -> tuple[Any, ...]:
        """Return the number of records, and a digest of the sizes and content of the files."""
        return ("tfrecord zstd", self.length, content_of(self.sidecars))

    def __getstate__(self) -> Mapping[str, Any]:
        """Return the description alone: the receiver finds the stored index."""
        return {field: self.__dict__[field] for field in ("paths", "name", "verify")}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.__dict__.update(state)

"""LitData's chunks with an Arrow table of samples: its form for dicts of text, numbers and lists."""

from __future__ import annotations

import io
import os
import struct
from collections.abc import Callable, Generator, Mapping, Sequence
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.core.arrays import Rows
from penstock.core.cached import cached_property
from penstock.core.contexts import contextmanager
from penstock.core.errors import DataError
from penstock.core.frozen import frozen
from penstock.core.lazy import require
from penstock.elements.chunks.chunk import Chunk, Items
from penstock.elements.spec import Spec
from penstock.index.blocked import Blocks
from penstock.kernels.records import Framing, RecordReader
from penstock.sources.arrow.tables import errors_at
from penstock.sources.records.files import content_of
from penstock.sources.shards.files import SAMPLE_CACHE_BYTES, ShardFile, shard_faults
from penstock.storage.indexing import IndexKind, index_files
from penstock.storage.local import file_size, read_extent
from penstock.storage.recent import Recent
from penstock.storage.records import open_records
from penstock.storage.remote.file import RemoteFile
from penstock.storage.sidecar import Sidecar
from penstock.storage.soundness import Arrays, are_offsets, are_within, has_form

MAGIC = b"LDARW01\0"
"""The last bytes of such a chunk, after the table (an Arrow IPC file) and the table's size as `uint32`."""
_TAIL = struct.Struct("<I8s")
_MOST = 1 << 62  # rows; some take no bytes


def ends_in_arrow(path: str) -> bool:
    """Return whether a chunk's samples are an Arrow table."""
    size = file_size(path)
    return read_extent(path, max(size - len(MAGIC), 0), size) == MAGIC


def _scan(path: str, seen: Callable[[int], None]) -> Mapping[str, NDArray[Any]]:
    """Return the place of the table, and the numbers of rows before each of its record batches and in total."""
    with open(path, "rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(size - _TAIL.size, 0))
        tail = file.read()
        length, magic = _TAIL.unpack(tail) if len(tail) == _TAIL.size else (0, b"")
        begin = size - _TAIL.size - length
        if magic != MAGIC or begin < 0:
            raise DataError(f"{path}, at byte {max(size - _TAIL.size, 0)}: it does not end in an Arrow table")
        file.seek(begin)
        data = file.read(length)
    with errors_at(f"{path}, at byte {begin}"):
        arrow = require("pyarrow", extra="arrow", purpose=f"reading {path}")
        options = arrow.ipc.IpcReadOptions(included_fields=[0], use_threads=False)
        reader = arrow.ipc.open_file(arrow.py_buffer(data), options=options)
        counts = [reader.get_batch(number).num_rows for number in range(reader.num_record_batches)]
    return {"table": np.array([begin, length], np.int64), "rows": np.cumsum([0, *counts], dtype=np.int64)}


def _is_sound(arrays: Arrays, size: int) -> bool:
    if not has_form(arrays, np.int64, {"table": (2,), "rows": (None,)}) or not are_within(arrays["table"], size):
        return False
    return int(arrays["table"].sum()) <= size and are_offsets(arrays, _MOST, "rows") and arrays["rows"][0] == 0


_NOTHING = {"table": np.zeros(2, np.int64), "rows": np.zeros(1, np.int64)}
ARROW = IndexKind("litdata-arrow", _scan, _is_sound, nothing=_NOTHING)


class SampleBatch:
    """The samples of one record batch, in Arrow's memory."""

    def __init__(self, batch: Any) -> None:
        self.batch = batch
        self.nbytes = int(batch.nbytes)


@frozen(eq=False)
class ArrowRows:
    """The samples of such chunks, as the Python values that were written, decoded one record batch at a time."""

    shards: Sequence[ShardFile]
    name: str

    @property
    def length(self) -> int:
        return sum(shard.samples for shard in self.shards)

    @cached_property
    def _sidecars(self) -> list[Sidecar]:
        return index_files([shard.path for shard in self.shards], ARROW, tolerant=True)

    @cached_property
    def faults(self) -> Mapping[int, Exception]:
        """Faults of chunks, by number: each is the error of all samples of the chunk according to index.json."""
        return shard_faults(self.shards, self._sidecars, [int(one.arrays["rows"][-1]) for one in self._sidecars])

    @cached_property
    def _rows(self) -> list[Rows]:
        """The numbers of rows before each record batch and in total; a chunk with a fault is one batch."""
        lost = [np.array([0, shard.samples], np.int64) for shard in self.shards]
        return [lost[i] if i in self.faults else one.arrays["rows"] for i, one in enumerate(self._sidecars)]

    @cached_property
    def _firsts(self) -> Rows:
        """The first record batch of each chunk, and the total number."""
        return np.cumsum([0, *(len(rows) - 1 for rows in self._rows)])

    @cached_property
    def _bounds(self) -> Rows:
        """The first sample of each record batch, and the total number."""
        starts = np.cumsum([0, *(shard.samples for shard in self.shards)])
        rows = [rows[:-1] for rows in self._rows]
        found = [start + first for start, first in zip(starts.tolist(), rows, strict=False)]
        return np.concatenate([*found, starts[-1:]]).astype(np.int64)

    @cached_property
    def blocks(self) -> Blocks | None:
        """The record batches."""
        bounds = np.unique(self._bounds)
        size = sum(int(sidecar.arrays["table"][1]) for sidecar in self._sidecars) // max(len(bounds) - 1, 1)
        return Blocks(bounds, max(SAMPLE_CACHE_BYTES // 2 // max(size, 1), 1)) if len(bounds) > 1 else None

    def spec(self) -> Spec:
        return None

    def read_many(self, rows: Rows, out: list[NDArray[Any]] | None = None) -> Chunk:
        rows = np.asarray(rows, np.int64)
        pieces = self._bounds.searchsorted(rows, "right") - 1
        elements: list[Any] = [None] * len(rows)
        wanted = {int(piece): np.flatnonzero(pieces == piece) for piece in np.unique(pieces)}
        try:
            for piece, found in self._recent.each(wanted):
                places = wanted[piece]
                local = rows[places] - self._bounds[piece]
                with errors_at(self._where(piece)):
                    values = found.batch.take(_indices(local)).to_pylist()
                for place, value in zip(places.tolist(), values, strict=True):
                    elements[place] = value
        except (DataError, OSError) as error:
            error.element = int(wanted[getattr(error, "piece", next(iter(wanted)))][0])  # type: ignore[union-attr]
            raise
        return Items(elements)

    def advise(self, rows: Rows) -> None:
        """Ask the system to begin to read the tables with the samples at `rows`."""
        pieces = self._recent.missing(np.unique(self._bounds.searchsorted(rows, "right") - 1).tolist())
        chunks = np.unique(np.searchsorted(self._firsts, pieces, side="right") - 1)
        self._tables.advise(chunks.astype(np.int64))

    @cached_property
    def _tables(self) -> RecordReader:
        """The tables as stored in the files."""
        spans = [sidecar.arrays["table"] for sidecar in self._sidecars]
        paths, sizes = [shard.path for shard in self.shards], [sidecar.stamp.size for sidecar in self._sidecars]
        begins, ends = [span[:1].copy() for span in spans], [span[:1] + span[1:] for span in spans]
        return open_records(paths, begins, ends, sizes, [None] * len(paths), framing=Framing.PLAIN)

    @cached_property
    def _recent(self) -> Recent[SampleBatch]:
        return Recent(self._loaded, SAMPLE_CACHE_BYTES)

    def _loaded(self, piece: int) -> SampleBatch:
        chunk = int(np.searchsorted(self._firsts, piece, side="right")) - 1
        if chunk in self.faults:
            error = copy(self.faults[chunk])  # notes belong to one raise
            error.piece = piece  # type: ignore[attr-defined] - the caller knows which samples failed
            raise error
        begin, length = self._sidecars[chunk].arrays["table"].tolist()
        arrow = require("pyarrow", extra="arrow", purpose=self.name)
        try:
            with errors_at(self._where(piece)), self._table(self.shards[chunk].path, begin, length) as table:
                reader = arrow.ipc.open_file(arrow.PythonFile(table))
                batch = reader.get_batch(piece - int(self._firsts[chunk]))
                batch.validate(full=True)
        except DataError as error:
            error.piece = piece  # type: ignore[attr-defined] - the caller knows which samples failed
            raise
        self._sidecars[chunk].check(self.shards[chunk].path)
        return SampleBatch(batch)

    @contextmanager
    def _table(self, path: str, begin: int, length: int) -> Generator[Any]:
        """Yield the table of a chunk as a file; that of an object is fetched as it was announced."""
        if isinstance(path, RemoteFile):
            yield io.BytesIO(read_extent(path, begin, begin + length))
            return
        with open(path, "rb") as file:
            yield _Part(file, begin, length)

    def _where(self, piece: int) -> str:
        chunk = int(np.searchsorted(self._firsts, piece, side="right")) - 1
        number = piece - int(self._firsts[chunk])
        first = int(self._rows[chunk][number])
        return f"{self.shards[chunk].path}, record batch {number}, from sample {first} on"

    def describe(self, row: int) -> str:
        starts = np.cumsum([0, *(shard.samples for shard in self.shards)])
        shard = int(starts.searchsorted(row, "right")) - 1
        return f"{self.shards[shard].path}, sample {row - int(starts[shard])}"

    @property
    def paths(self) -> Sequence[str]:
        """The files of the chunks."""
        return [shard.path for shard in self.shards]

    def fingerprint(self) -> tuple[Any, ...]:
        """Return the number of samples, and a digest of the sizes and content of the chunks."""
        return ("litdata arrow", self.length, content_of(self._sidecars))

    def __reduce__(self) -> Any:
        return ArrowRows, (self.shards, self.name)


class _Part:
    """A part of a file, as a file."""

    def __init__(self, file: Any, begin: int, length: int) -> None:
        self._file, self._begin, self._length, self._at = file, begin, length, 0
        self.closed = False

    def seek(self, offset: int, whence: int = 0) -> int:
        self._at = offset + (0, self._at, self._length)[whence]
        return self._at

    def tell(self) -> int:
        return self._at

    def read(self, size: int = -1) -> bytes:
        left = max(self._length - self._at, 0)
        self._file.seek(self._begin + self._at)
        data = self._file.read(left if size < 0 else min(size, left))
        self._at += len(data)
        return data

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def writable(self) -> bool:
        return False

    def close(self) -> None:
        self.closed = True

    def flush(self) -> None: ...


def _indices(rows: Rows) -> Any:
    return require("pyarrow", extra="arrow", purpose="read_litdata").array(rows)

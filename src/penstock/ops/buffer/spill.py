"""The part of a cache in memory that lies on disk: the elements that memory had no room for."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock.cache.compressing import Compression
from penstock.cache.store import CacheStore
from penstock.cache.temporary import TemporaryFolder
from penstock.core.arrays import Rows
from penstock.core.frames import CodeLine
from penstock.elements.chunks.chunk import Chunk
from penstock.ops.buffer.on_disk import DiskStore
from penstock.plan.content.key import ContentKey
from penstock.storage.kept import KeptRows, KeptStream

_AT_A_TIME = 256  # kept elements of a stream that move together
_LOOKED_AT = 1 << 12  # rows


class Spill:
    """The elements of a cache on disk, or in a temporary folder, which is made when first needed.

    A temporary folder is removed with the last `Spill` of the process that made it. Copies in other processes of the
    machine share it; on another machine a copy has a folder of its own.
    """

    def __init__(
        self, disk: DiskStore | None = None, compression: Compression | None = None, at: CodeLine | None = None
    ) -> None:
        self._disk = disk
        self._at = at if disk is None else disk.at
        self._compression: Compression | None = compression  # of a temporary folder
        self._temporary: TemporaryFolder | None = None
        self._lock = threading.Lock()

    @property
    def disk(self) -> DiskStore:
        """The elements on disk."""
        with self._lock:
            if self._disk is None:
                self._temporary = TemporaryFolder(at=self._at)
                self._disk = DiskStore(
                    self._temporary.path, ContentKey({}), compression=self._compression, tells=False, at=self._at
                )
            return self._disk

    def part(self, number: int, streams: int) -> Spill:
        """Return the part of one of the `streams` that the input is cut into."""
        made = Spill(self.disk.part(number, streams))
        made._temporary = self._temporary
        return made

    def rows(self, seeds: Sequence[int], count: int) -> CacheStore:
        """Return the kept rows."""
        return self.disk.rows(seeds, count)

    def stream(self, seeds: Sequence[int], memory: KeptStream) -> SpilledStream:
        """Return the kept elements of a stream, the first of which are in memory."""
        return SpilledStream(memory, self.disk.stream(seeds).store)

    def __reduce__(self) -> Any:
        disk = self.disk
        return (Spill, (disk,)) if self._temporary is None else (_shared, (disk, self._compression))


def _shared(disk: DiskStore, compression: Compression | None) -> Spill:
    return Spill(disk) if os.path.isdir(disk.folder) else Spill(None, compression, disk.at)


class SpilledStream:
    """The first elements of a stream: in memory as far as there is room, the next ones on disk."""

    def __init__(self, memory: KeptStream, disk: CacheStore) -> None:
        self._memory = memory
        self._disk = disk
        self._mark: tuple[int, Any] = (0, None)

    @property
    def count(self) -> int:
        """The number of elements that are there from the first on."""
        end = self._memory.count
        while (there := self._disk.present(np.arange(end, end + _LOOKED_AT))).all():
            end += _LOOKED_AT
        return end + int(there.argmin())

    @property
    def complete(self) -> bool:
        """True if the elements that are there are all."""
        length = self._disk.length
        return self._memory.complete or (length is not None and length <= self.count)

    def nearest(self, at: int) -> tuple[int, Any]:
        """Return the number of elements, at most `at`, after which the input's mark is known, and the mark."""
        return self._mark if self._memory.count < self._mark[0] <= at else self._memory.nearest(at)

    def add(self, at: int, chunk: Chunk, after: Any) -> None:
        """Keep the elements of a sealed chunk from position `at` on."""
        self._memory.add(at, chunk, after)
        here = min(max(self._memory.count - at, 0), len(chunk))
        if here < len(chunk):
            self._disk.write(np.arange(at + here, at + len(chunk)), chunk.slice(here, len(chunk)))
            self._mark = at + len(chunk), after

    def end(self, at: int) -> None:
        """Record that the stream has `at` elements."""
        self._memory.end(at)
        if not self._memory.complete:
            self._disk.complete(at)

    def from_here(self, at: int) -> Chunk:
        """Return some of the elements from position `at` on; none if the first is damaged."""
        if at < self._memory.count:
            return self._memory.from_here(at)
        rows: Rows = np.arange(at, min(at + _AT_A_TIME, self.count))
        chunk, found = self._disk.read(rows)
        return chunk if found.all() else chunk.slice(0, int(found.argmin()))

    def as_rows(self, count: int) -> KeptRows:
        """Return the elements as `count` rows."""
        return self._memory.as_rows(count, self._disk)

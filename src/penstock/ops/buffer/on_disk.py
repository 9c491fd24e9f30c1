"""The elements that a folder keeps for a plan, found by the content key of the plan and its seeds."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import field, replace
from functools import partial
from typing import Any

import numpy as np

from penstock.cache.compressing import Compression
from penstock.cache.store import CacheStore
from penstock.core.budget import Budget
from penstock.core.errors import CacheWarning, PlanError
from penstock.core.frames import CodeLine, warn_at
from penstock.core.frozen import frozen
from penstock.elements.chunks.chunk import Chunk
from penstock.plan.content.key import STREAM, ContentKey

_AT_A_TIME = 256  # kept elements of a stream that move together


@frozen(eq=False)
class DiskStore:
    """Elements on disk, by their position: opened when first needed, and once for each set of seeds.

    A copy in another process opens the same files. If nothing is kept for the key, but something is for another, the
    first process says what has changed. The key is made anew by `renew` before the first element is read, or copied to
    another process, since what functions read may have changed since the plan was built. A dataset that was given the
    length of a stream by then is refused if the key has changed. Warnings are about the line `at` which the cache was
    made.
    """

    folder: str
    key: ContentKey
    limit_bytes: int | None = None
    compression: Compression | None = None
    tells: bool = True
    renew: Callable[[], ContentKey] | None = field(default=None, repr=False)
    at: CodeLine | None = field(default=None, repr=False)
    _open: dict[str, CacheStore] = field(default_factory=dict, init=False, repr=False)
    _streams: dict[str, StreamOnDisk] = field(default_factory=dict, init=False, repr=False)
    _renewed: list[ContentKey] = field(default_factory=list, init=False, repr=False)
    _told: set[str] = field(default_factory=set, init=False, repr=False)
    _counted: list[int] = field(default_factory=list, init=False, repr=False)
    _lock: Any = field(default_factory=threading.Lock, init=False, repr=False)

    def label(self) -> str:
        """Return the folder, and the limit if there is one."""
        limit = "" if self.limit_bytes is None else f", limit_bytes={self.limit_bytes}"
        return f"{self.folder!r}{limit}"

    def obey(self, budget: Budget, name: str) -> None:
        """Do nothing: what is kept here takes no memory of the run."""

    def part(self, number: int, streams: int) -> DiskStore:
        """Return the store of one of the `streams` that the input is cut into."""
        told = STREAM, f"{number} of {streams}"
        return replace(self, key=self.key.with_part(*told), renew=lambda: self._key_now().with_part(*told))

    def rows(self, seeds: Sequence[int], count: int) -> CacheStore:
        """Return the kept rows of an indexed plan; those of other processes are looked for once more."""
        return self._used(self._key_now().with_seeds(seeds))

    def _key_now(self) -> ContentKey:
        with self._lock:
            if not self._renewed:
                key = self.key if self.renew is None else self.renew()
                if self._counted and key.text != self.key.text:
                    raise PlanError(
                        f"cache({self.folder!r}): {key.difference([self.key.parts])}, after this dataset had the "
                        f"length of the {self._counted[0]:,} elements kept before: call cache() again after the change"
                    )
                self._renewed.append(key)
            return self._renewed[0]

    def stream(self, seeds: Sequence[int]) -> StreamOnDisk:
        """Return the kept elements of a stream."""
        key = self._key_now().with_seeds(seeds)
        return self._stream(key, self._used(key))

    def _stream(self, key: ContentKey, store: CacheStore) -> StreamOnDisk:
        with self._lock:
            return self._streams.setdefault(key.text, StreamOnDisk(store))

    def length(self, seeds: Sequence[int]) -> int | None:
        """Return the number of elements of a stream that is kept as a whole; `None` of any other."""
        key = (self._renewed[0] if self._renewed else self.key).with_seeds(seeds)
        kept = self._stream(key, self._opened(key))
        if not kept.complete:
            return None
        self._counted.append(kept.count)
        return kept.count

    def is_whole(self) -> bool:
        """Return whether this process has read or kept a stream as a whole."""
        return any(kept.complete for kept in self._streams.values())

    def lacks_stream(self, seeds: Sequence[int]) -> bool:
        """Return False: any process finds what is kept."""
        return False

    def _opened(self, key: ContentKey) -> CacheStore:
        with self._lock:
            store = self._open.get(key.text)
            if store is None:
                store = self._open[key.text] = CacheStore(
                    self.folder,
                    key.text,
                    key.parts,
                    limit_bytes=self.limit_bytes,
                    compression=self.compression,
                    tell=partial(_warn, self.at),
                )
            else:
                store.refresh()
            return store

    def _used(self, key: ContentKey) -> CacheStore:
        """Return the opened elements of a key; the first time, say what has changed if there are none."""
        store = self._opened(key)
        with self._lock:
            is_first = key.text not in self._told
            self._told.add(key.text)
        if self.tells and is_first and not store.count:
            change = key.difference([parts for _, parts in store.other_keys()])
            if change is not None:
                sentence = (
                    f"cache({self.folder!r}): {change}; the elements kept before are not used, and are made again"
                )
                _warn(self.at, sentence)
        return store

    def __reduce__(self) -> tuple[Any, ...]:
        return DiskStore, (self.folder, self._key_now(), self.limit_bytes, self.compression, False, None, self.at)


def _warn(at: CodeLine | None, sentence: str) -> None:
    warn_at(at, CacheWarning(sentence))


class StreamOnDisk:
    """The first elements of a stream, kept on disk, and the mark after those that this process has added."""

    def __init__(self, store: CacheStore) -> None:
        self.store = store
        self._mark: tuple[int, Any] = (0, None)

    @property
    def count(self) -> int:
        """The number of elements that are there from the first on."""
        return self.store.prefix

    @property
    def complete(self) -> bool:
        """True if the elements that are there are all."""
        return self.store.length is not None and self.store.length <= self.store.prefix

    def nearest(self, at: int) -> tuple[int, Any]:
        """Return the number of elements, at most `at`, after which the input's mark is known, and the mark."""
        known = self._mark
        return known if known[0] <= at else (0, None)

    def add(self, at: int, chunk: Chunk, after: Any) -> None:
        """Keep the elements of a sealed chunk from position `at` on."""
        self.store.write(np.arange(at, at + len(chunk), dtype=np.int64), chunk)
        self._mark = at + len(chunk), after

    def end(self, at: int) -> None:
        """Record that the stream has `at` elements."""
        self.store.complete(at)

    def from_here(self, at: int) -> Chunk:
        """Return some of the elements from position `at` on; none if the first is damaged."""
        rows = np.arange(at, min(at + _AT_A_TIME, self.store.prefix), dtype=np.int64)
        chunk, found = self.store.read(rows)
        return chunk if found.all() else chunk.slice(0, int(found.argmin()))

"""Ranges of objects, fetched by threads of their own: those waited for first, then those announced, in order."""

from __future__ import annotations

import math
import os
import threading
from bisect import bisect_right, insort
from collections import OrderedDict, deque
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, fields
from functools import lru_cache
from operator import itemgetter
from time import monotonic

import numpy as np

from penstock.storage.local import Extent
from penstock.storage.remote.disk import disk_cache_of
from penstock.storage.remote.failures import Reason, StoreFailure, classify, failed
from penstock.storage.remote.pace import RequestPace
from penstock.storage.remote.ranges import ExtentKey, RangeRequest, Requests, key_of, plan_requests
from penstock.storage.remote.retrying import Retry
from penstock.storage.remote.stores import store_of

ANNOUNCED = 128 << 20
"""The most bytes fetched ahead of being asked for."""
_ENTRY = 512  # bytes of what is known of an announced extent
_WIDE = 1 << 18  # bytes of a piece from which on other extents may be cut out of it
_MANY = 1 << 12  # extents announced together, as small ones are, from which on they are cut out of earlier pieces
_OVERLAPPING = 8  # earlier wide pieces that may reach further than the last one
_FORGOTTEN = 120.0  # seconds after which announced bytes make room for others
_LATE, _REMEMBERED = 5.0, 4096  # seconds for which extents read without an announcement are remembered, and how many
_BEGIN = itemgetter(0)
_AHEAD_SECONDS = 3.0  # for which a request is tried again while nobody waits: others need its thread


@dataclass
class FetchCounts:
    """Counts of what a process has fetched: requests, bytes and seconds."""

    requests: int = 0
    bytes: int = 0
    seconds: float = 0.0
    retried: int = 0
    hedged: int = 0
    cached_bytes: int = 0
    waited: float = 0.0

    def __sub__(self, other: FetchCounts) -> FetchCounts:
        return FetchCounts(*(getattr(self, each.name) - getattr(other, each.name) for each in fields(self)))

    def __add__(self, other: FetchCounts) -> FetchCounts:
        return FetchCounts(*(getattr(self, each.name) + getattr(other, each.name) for each in fields(self)))

    def copy(self) -> FetchCounts:
        """Return these counts, as they are now."""
        return self - FetchCounts()


class Fetcher:
    """The fetcher of a process: any thread may announce and read extents of remote files.

    Threads live only while there is something to fetch. Bytes that were announced are kept until they are read, up to
    `ANNOUNCED` bytes together; announcements beyond that are ignored, since extents need not be announced.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._planning = threading.Lock()  # held first: of what is being announced, no thread requests a part alone
        self._known: dict[ExtentKey, tuple[Requests, int]] = {}  # announced extents, and how often
        self._held: dict[RangeRequest, None] = {}  # announced pieces, oldest first
        self._bytes = 0  # of them
        self._wide: dict[str, list[tuple[int, int, RangeRequest]]] = {}  # large ones by content, sorted by begin
        self._unannounced: OrderedDict[ExtentKey, float] = OrderedDict()  # read a moment ago, and when
        self._urgent: deque[RangeRequest] = deque()
        self._coming: deque[RangeRequest] = deque()
        self._threads = 0
        self.pace = RequestPace()
        self.counts = FetchCounts()

    @property
    def ahead_bytes(self) -> int:
        """The bytes that were requested ahead and not read yet."""
        return self._bytes

    def announce(self, extents: Iterable[Extent]) -> None:
        """Begin to fetch extents that will be read, in this order, without waiting."""
        with self._planning:
            self._announce(list(extents))

    def _announce(self, extents: list[Extent]) -> None:
        with self._lock:
            self._make_room()
            if self._is_full():
                return
            new: dict[ExtentKey, tuple[Extent, int]] = {}
            late, are_many = monotonic() - _LATE, len(extents) >= _MANY
            for extent in extents:
                key = key_of(extent)
                if self._unannounced.pop(key, 0.0) > late:
                    continue  # another thread was faster; kept, it would wait for a second reader
                if (known := self._known.get(key)) is not None:
                    self._known[key] = known[0], known[1] + 1
                elif are_many and (piece := self._around(key)) is not None:
                    piece.left += 1
                    self._known[key] = (piece,), 1
                elif extent[2] > extent[1]:
                    new[key] = extent, 1 + (new[key][1] if key in new else 0)
        planned = plan_requests([extent for extent, _ in new.values()])
        with self._lock:
            self._begin({key: (cut, new[key][1]) for key, cut in planned.items()})
            self._start_threads()

    def _begin(self, planned: Mapping[ExtentKey, tuple[Requests, int]]) -> None:
        """Take announced extents over, with the number of their uses, as far as there is room for them."""
        is_full = False
        for key, (cut, uses) in planned.items():
            fresh = [piece for piece in cut if piece not in self._held]
            size = sum(piece.nbytes for piece in fresh)
            if fresh and (is_full or (self._bytes + size > ANNOUNCED and self._held)):
                is_full = True
                continue
            for piece in fresh:
                self._hold(piece)
            self._coming.extend(fresh)
            for piece in cut:
                piece.left += 1
            self._known[key] = cut, uses

    def read(self, extents: Sequence[Extent]) -> list[memoryview]:
        """Return the bytes of each extent; raise the error of the first that cannot be read.

        The error has the index of its extent as `element`.
        """
        cuts: dict[int, Requests] = {}
        keys, now = list(map(key_of, extents)), monotonic()
        with self._lock:
            are_known = all(key in self._known for key in keys)
        with nullcontext() if are_known else self._planning, self._lock:
            taken: dict[ExtentKey, Requests] = {}
            for i, key in enumerate(keys):
                if (known := self._known.get(key)) is not None:
                    cut = self._taken(key, *known)
                    if not any(piece.failure is not None for piece in cut):
                        cuts[i] = taken[key] = cut  # otherwise asked for again: the reason may be gone
                        for piece in cut:
                            piece.wanted = True
                elif key in taken:
                    cuts[i] = taken[key]
                else:
                    self._unannounced[key] = now
                    if (piece := self._around(key)) is not None:
                        cuts[i] = taken[key] = (piece,)
                        piece.wanted = True
            while len(self._unannounced) > _REMEMBERED:
                self._unannounced.popitem(last=False)
        empty = {i for i, (_, begin, end) in enumerate(extents) if end <= begin}
        found = plan_requests([extent for i, extent in enumerate(extents) if i not in cuts and i not in empty])
        made = [cuts.get(i) or (() if i in empty else found[keys[i]]) for i in range(len(extents))]
        wanted = list(dict.fromkeys(piece for cut in made for piece in cut if not piece.done.is_set()))
        if wanted:
            self._wait(wanted)
        contents: list[memoryview] = []
        for i, (extent, cut) in enumerate(zip(extents, made, strict=True)):
            broken = next((piece for piece in cut if piece.failure is not None), None)
            if broken is not None and broken.failure is not None:
                error = failed(broken.failure[0], broken.file, *broken.failure[1:])
                error.element = i  # type: ignore[attr-defined] - tells which element failed
                raise error
            contents.append(_cut_out(extent, cut))
        return contents

    def _taken(self, key: ExtentKey, cut: Requests, uses: int) -> Requests:
        """Return the pieces of an announced extent, and forget them if this was its last use."""
        if uses > 1:
            self._known[key] = cut, uses - 1
            return cut
        del self._known[key]
        for piece in cut:
            piece.left -= 1
            if piece.left == 0 and piece in self._held:
                self._let_go(piece)
        return cut

    def _hold(self, piece: RangeRequest) -> None:
        self._held[piece] = None
        self._bytes += piece.nbytes
        if piece.nbytes >= _WIDE:
            insort(self._wide.setdefault(piece.file.content_key, []), (piece.begin, piece.end, piece), key=_BEGIN)

    def _let_go(self, piece: RangeRequest) -> None:
        del self._held[piece]
        self._bytes -= piece.nbytes
        if piece.nbytes >= _WIDE:
            wide = self._wide[piece.file.content_key]
            wide[:] = [each for each in wide if each[2] is not piece]
            if not wide:
                del self._wide[piece.file.content_key]

    def _around(self, key: ExtentKey) -> RangeRequest | None:
        """Return a piece that is held and has all bytes of an extent, if it is a large one."""
        content, begin, end = key
        if begin >= end or (wide := self._wide.get(content)) is None:
            return None
        last = bisect_right(wide, begin, key=_BEGIN)
        near = wide[max(last - _OVERLAPPING, 0) : last]
        return next((each[2] for each in near if end <= each[1] and each[2].failure is None), None)

    def _is_full(self) -> bool:
        """Return whether no more may be announced; small extents count by the memory of their entries as well."""
        return self._bytes + _ENTRY * len(self._known) >= ANNOUNCED

    def _make_room(self) -> None:
        """Forget announced pieces that nobody asked for in a long time, as after an iterator that was left."""
        old = monotonic() - _FORGOTTEN
        if not self._is_full():
            return
        done = (piece for piece in self._held if piece.done.is_set())
        forgotten = {piece for piece in done if piece.finished < old or piece.failure is not None}
        if forgotten:
            for piece in forgotten:
                self._let_go(piece)
            self._known = {key: kept for key, kept in self._known.items() if forgotten.isdisjoint(kept[0])}

    def _wait(self, wanted: list[RangeRequest]) -> None:
        """Wait until these pieces are done; repeat the request of one that is late."""
        began = monotonic()
        with self._lock:
            for piece in wanted:
                piece.wanted = True
            self._urgent.extend(piece for piece in wanted if not piece.started)
            self._start_threads()
        for piece in wanted:
            while not piece.done.is_set():
                with self._lock:
                    late = self.pace.repeat_after(piece.nbytes)
                    began_at = piece.started
                if late is None or piece.is_cached:
                    piece.done.wait()
                elif not began_at:
                    piece.done.wait(late)
                elif not piece.done.wait(max(began_at + late - monotonic(), 0.0)):
                    self._repeat(piece)
                    piece.done.wait()
        with self._lock:
            self.counts.waited += monotonic() - began

    def _repeat(self, piece: RangeRequest) -> None:
        with self._lock:
            self.pace.repeated()
            self.counts.hedged += 1
            self._threads += 1
        threading.Thread(target=self._repeated, args=(piece,), name="penstock-fetch").start()

    def _repeated(self, piece: RangeRequest) -> None:
        try:
            content = self._requested(piece)
        except BaseException:  # noqa: BLE001 - the first request goes on, and has its own tries
            content = None
        if content is not None:
            self._finish(piece, content)
        self._work()

    def _start_threads(self) -> None:
        """Start threads for what waits, up to the number of requests at once."""
        count = min(len(self._urgent) + len(self._coming), self.pace.limit - self._threads)
        for _ in range(count):
            self._threads += 1
            threading.Thread(target=self._work, name="penstock-fetch").start()

    def _work(self) -> None:
        while (piece := self._next()) is not None:
            try:
                self._fetch(piece)
            except BaseException as error:  # noqa: BLE001 - a thread that dies leaves its reader waiting forever
                self._fail(piece, StoreFailure(Reason.OTHER, type(error).__name__), monotonic() - piece.started)

    def _next(self) -> RangeRequest | None:
        """Return the next piece to fetch; `None` if this thread is to end."""
        with self._lock:
            while (self._urgent or self._coming) and self._threads <= self.pace.limit:
                piece = (self._urgent or self._coming).popleft()
                if not piece.started and threading.main_thread().is_alive():
                    piece.started = monotonic()
                    return piece
                if not piece.started:  # the interpreter ends
                    piece.failure = StoreFailure(Reason.OTHER, "the interpreter ends"), 1, 0.0
                    piece.done.set()
            self._threads -= 1
            return None

    def _fetch(self, piece: RangeRequest) -> None:
        """Fetch a piece, trying again as long as that may help."""
        cache = disk_cache_of(piece.file)
        if piece.is_cached and cache is not None and (content := cache.read(piece.file, piece.begin, piece.end)):
            with self._lock:
                self.counts.cached_bytes += piece.nbytes
            self._finish(piece, content)
            return
        retry = Retry(piece.file.access)
        while not piece.done.is_set():
            piece.tries += 1
            try:
                content = self._requested(piece)
            except Exception as error:  # noqa: BLE001 - any library's
                failure = classify(error)
                if failure.kind is Reason.MISSING:  # it was found before
                    failure = failure._replace(kind=Reason.GONE)
            else:
                self._finish(piece, content)
                if cache is not None:
                    cache.write(piece.file, piece.begin, content)
                return
            with self._lock:  # whoever wants it from now on asks for it again
                pause = retry.pause_after(failure, math.inf if piece.wanted else _AHEAD_SECONDS)
                if pause is None:
                    self._fail(piece, failure, retry.seconds)
                    return
                self.counts.retried += 1
                if failure.kind is Reason.SLOW_DOWN:
                    self.pace.refused()
            piece.done.wait(pause)

    def _requested(self, piece: RangeRequest) -> memoryview:
        began = monotonic()
        content = store_of(piece.file.access).read(piece.file.key, piece.begin, piece.end, piece.file.tag)
        seconds = monotonic() - began
        with self._lock:
            self.pace.done(piece.nbytes, seconds, busy=bool(self._urgent or self._coming))
            self.counts.requests += 1
            self.counts.bytes += piece.nbytes
            self.counts.seconds += seconds
            self._start_threads()
        return content

    def _finish(self, piece: RangeRequest, content: memoryview) -> None:
        if not piece.done.is_set():
            piece.content, piece.finished = content, monotonic()
            piece.done.set()

    def _fail(self, piece: RangeRequest, failure: StoreFailure, seconds: float) -> None:
        if not piece.done.is_set():
            piece.failure, piece.finished = (failure, piece.tries, seconds), monotonic()
            piece.done.set()


def _cut_out(extent: Extent, cut: Requests) -> memoryview:
    _, begin, end = extent
    parts = [
        piece.content[max(begin - piece.begin, 0) : end - piece.begin]
        for piece in cut
        if piece.content is not None and piece.begin < end and piece.end > begin
    ]
    if len(parts) == 1:
        return parts[0]
    joined = np.empty(end - begin, np.uint8)
    at = 0
    for part in parts:
        joined[at : at + len(part)] = part
        at += len(part)
    return joined.data


@lru_cache(maxsize=4)
def _fetcher(process: int) -> Fetcher:
    return Fetcher()


def fetcher() -> Fetcher:
    """Return the fetcher of this process."""
    return _fetcher(os.getpid())

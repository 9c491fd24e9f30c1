"""Plan which ranges of remote objects to request together for the extents that readers ask for."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from penstock.storage.local import Extent
from penstock.storage.remote.disk import disk_cache_of
from penstock.storage.remote.failures import StoreFailure
from penstock.storage.remote.file import RemoteFile

LARGEST_REQUEST = 16 << 20
"""The most bytes of one request."""
_GAP, _SHARE = 4096, 8  # most bytes between two extents fetched as one: a number, and 1 / 8 of the bytes before


class RangeRequest:
    """A range of an object that one request fetches. The lock of the fetcher guards all but `done` and its results."""

    __slots__ = (
        "begin",
        "content",
        "done",
        "end",
        "failure",
        "file",
        "finished",
        "is_cached",
        "left",
        "started",
        "tries",
        "wanted",
    )

    def __init__(self, file: RemoteFile, begin: int, end: int, *, is_cached: bool = False) -> None:
        self.file, self.begin, self.end = file, begin, end
        self.is_cached = is_cached
        self.started = 0.0  # time of the first request
        self.finished = 0.0
        self.tries = 0
        self.left = 0  # announced extents that nobody has read yet
        self.wanted = False  # somebody reads it, or waits for it
        self.done = threading.Event()
        self.content: memoryview | None = None
        self.failure: tuple[StoreFailure, int, float] | None = None

    @property
    def nbytes(self) -> int:
        return self.end - self.begin


Requests: TypeAlias = tuple[RangeRequest, ...]
"""The pieces that an extent is cut out of, in order."""


ExtentKey: TypeAlias = tuple[str, int, int]
"""The content of a file, begin and end."""


def key_of(extent: Extent) -> ExtentKey:
    """Return what tells an extent of this content from others."""
    path, begin, end = extent
    assert isinstance(path, RemoteFile)  # noqa: S101 - for the type checker
    return path.content_key, begin, end


def plan_requests(extents: Sequence[Extent]) -> dict[ExtentKey, Requests]:
    """Return the requests for each extent: near extents of a file share one, large ones have several.

    A request has at most `LARGEST_REQUEST` bytes, and little that no extent asks for. Requests are in the order of the
    extents that need them first. What is on the local disk is read by requests of its own.
    """
    of_key = {key_of(extent): extent for extent in extents}
    cuts: dict[ExtentKey, Requests] = {}
    absent: list[ExtentKey] = []
    for group in _near(sorted(of_key)):
        path, low, high = _span(of_key[group[0]][0], group)
        if _is_on_disk((path, low, high)):
            cuts.update(dict.fromkeys(group, _requests(path, low, high, is_cached=True)))
            continue
        for key in group:
            if len(group) > 1 and _is_on_disk(of_key[key]):
                cuts[key] = _requests(*of_key[key], is_cached=True)
            else:
                absent.append(key)
    for group in _near(absent):
        cuts.update(dict.fromkeys(group, _requests(*_span(of_key[group[0]][0], group))))
    return {key: cuts[key] for key in of_key}


def _near(keys: Iterable[ExtentKey]) -> Iterator[list[ExtentKey]]:
    """Yield groups of sorted keys that share a request."""
    group: list[ExtentKey] = []
    low = high = useful = 0
    for key in keys:
        content, begin, end = key
        near = group and group[0][0] == content and begin - high <= _GAP + useful // _SHARE
        if not near or max(end, high) - low > LARGEST_REQUEST:
            if group:
                yield group
            group, low, high, useful = [], begin, begin, 0
        group.append(key)
        high = max(high, end)
        useful += end - begin
    if group:
        yield group


def _span(path: str, group: Sequence[ExtentKey]) -> Extent:
    return path, group[0][1], max(end for _, _, end in group)


def _is_on_disk(extent: Extent) -> bool:
    path, begin, end = extent
    cache = disk_cache_of(path) if isinstance(path, RemoteFile) else None
    return cache is not None and isinstance(path, RemoteFile) and cache.covers(path, begin, end)


def _requests(path: str, low: int, high: int, *, is_cached: bool = False) -> Requests:
    assert isinstance(path, RemoteFile)  # noqa: S101 - for the type checker
    steps = range(low, high, LARGEST_REQUEST)
    return tuple(RangeRequest(path, at, min(at + LARGEST_REQUEST, high), is_cached=is_cached) for at in steps)

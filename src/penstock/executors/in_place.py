"""Results in the memory of Ray's object store, where their one consumer may write to them: no copy is made.

Ray hands out arrays that are read-only, because several processes may have one object. The object of a result has one
reader, so the consumer may write. The store of a Linux host is memory that all its clients map for reading and writing.
"""

from __future__ import annotations

import itertools
import os
import socket
import stat
import weakref
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

STAYS_FROM = 1 << 16  # bytes of an array; a smaller one is copied, since it would keep its whole result in the store
STORE_SHARE = 8  # at most this part of the store may be in the hands of consumers, who may keep what they receive
STORE_SOCKET = "plasma_store"  # the beginning of the name of the socket at which a store listens


class ResultsInPlace:
    """The results that consumers of this process hold in the object store of its host.

    The memory of a result goes back to the store with the last array that refers to it. More than a part of the store
    is never held: further results are copied, so that a consumer that keeps all of them leaves room for those to come.
    """

    def __init__(self) -> None:
        self._held: dict[int, int] = {}  # the bytes of each result
        self._numbers = itertools.count()
        self._store: weakref.ref[_OpenStore] | None = None

    @property
    def nbytes(self) -> int:
        """The number of bytes of the store that consumers hold."""
        return sum(self._held.copy().values())

    def writable(self, buffers: Sequence[NDArray[np.uint8]]) -> list[Any]:
        """Return the buffers of one result, `uint8[n]` each: large ones in place if possible, copies of the others."""
        large = [each for each in buffers if each.nbytes >= STAYS_FROM]
        nbytes = sum(each.nbytes for each in buffers)
        store = self._open() if large else None
        if store is None or not all(store.lends(each, nbytes, self.nbytes) for each in large):
            return [bytearray(each) for each in buffers]
        result = _Result(store)
        self._held[number := next(self._numbers)] = nbytes
        weakref.finalize(result, self._held.pop, number).atexit = False
        return [bytearray(each) if each.nbytes < STAYS_FROM else _in_place(each, result) for each in buffers]

    def _open(self) -> _OpenStore | None:
        """Return the store as it was found when the oldest result was taken that is still held, or as it is now."""
        store = None if self._store is None else self._store()
        if store is None and (connections := _connections()):
            store = _OpenStore(connections)
            self._store = weakref.ref(store)
        return store


@cache
def results_in_place() -> ResultsInPlace:
    """Return the results of all executors of this process."""
    return ResultsInPlace()


class _Span(NamedTuple):
    """A stretch of addresses."""

    begin: int
    end: int


class _OpenStore:
    """The object store of this host, of which nothing is used again that is held here.

    A store takes back all that a process holds once the last connection of the process is closed, as by
    `ray.shutdown()`. The connection that is kept open here closes with the last result.
    """

    def __init__(self, connections: list[int]) -> None:
        """Keep connections open, which are file descriptors of this object alone."""
        self._spans: list[_Span] = []
        weakref.finalize(self, _close, connections).atexit = False

    def lends(self, buffer: NDArray[np.uint8], nbytes: int, held: int) -> bool:
        """Return whether the buffer, of a result of `nbytes`, may stay in the store beside what is held of it."""
        begin = buffer.ctypes.data
        span = next((each for each in self._spans if each.begin <= begin < each.end), None)
        if span is None and (span := _shared_memory_at(begin)) is not None:
            self._spans.append(span)
        if span is None or begin + buffer.nbytes > span.end:
            return False
        return STORE_SHARE * (held + nbytes) <= span.end - span.begin  # an object without room has a small file alone


class _Result:
    """A result that some array refers to."""

    def __init__(self, store: _OpenStore) -> None:
        self.store = store


class _Writable:
    """A buffer of a result as NumPy sees it, which keeps the result and its object in the store."""

    def __init__(self, buffer: NDArray[np.uint8], result: _Result) -> None:
        self.kept = buffer, result
        self.__array_interface__ = {
            "data": (buffer.ctypes.data, False),
            "shape": buffer.shape,
            "typestr": "|u1",
            "version": 3,
        }


def _in_place(buffer: NDArray[np.uint8], result: _Result) -> NDArray[np.uint8]:
    return np.asarray(_Writable(buffer, result))


def _connections() -> list[int]:
    """Return duplicates of the connections of this process to object stores; none where that cannot be found out."""
    if socket.getdefaulttimeout() is not None:  # which the duplicate would take, and its connection with it
        return []
    found: list[int] = []
    with suppress(OSError):
        for name in os.listdir("/proc/self/fd"):
            with suppress(OSError):  # closed meanwhile
                if stat.S_ISSOCK(os.stat(f"/proc/self/fd/{name}").st_mode):
                    with socket.socket(fileno=os.dup(int(name))) as end:
                        if _is_of_store(end):
                            found.append(end.detach())
    return found


def _is_of_store(end: socket.socket) -> bool:
    if end.family != socket.AF_UNIX:
        return False
    with suppress(OSError):  # not connected
        return os.path.basename(os.fsdecode(end.getpeername())).startswith(STORE_SOCKET)
    return False


def _close(descriptors: list[int]) -> None:
    for each in descriptors:
        os.close(each)


def _shared_memory_at(address: int) -> _Span | None:
    """Return the mapping of this process at an address, if it is writable and shared with other processes."""
    with suppress(OSError), open("/proc/self/maps") as maps:
        for line in maps:
            addresses, access = line.split(maxsplit=2)[:2]
            begin, end = (int(each, 16) for each in addresses.split("-"))
            if begin <= address < end:
                return _Span(begin, end) if access == "rw-s" else None
    return None

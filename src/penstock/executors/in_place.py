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
        self._own: set[int] = set()  # the connections that are kept open here

    @property
    def nbytes(self) -> int:
        """The number of bytes of the store that consumers hold."""
        return sum(self._held.copy().values())

    def writable(self, buffers: Sequence[NDArray[np.uint8]]) -> list[Any]:
        """Return the buffers of one result, `uint8[n]` each: large ones in place if possible, copies of the others."""
        large = [each for each in buffers if each.nbytes >= STAYS_FROM]
        nbytes = sum(each.nbytes for each in buffers)
        store = self._store_of(large) if large else None
        if store is None or STORE_SHARE * (self.nbytes + nbytes) > store.nbytes:
            return [bytearray(each) for each in buffers]
        result = _Result(store)
        self._held[number := next(self._numbers)] = nbytes
        weakref.finalize(result, self._held.pop, number).atexit = False
        return [bytearray(each) if each.nbytes < STAYS_FROM else _in_place(each, result) for each in buffers]

    def _store_of(self, buffers: Sequence[NDArray[np.uint8]]) -> _OpenStore | None:
        """Return the store that the buffers are in, kept open from the first result on that is held; `None` if none is.

        After another `ray.init()` it is another store, or another connection.
        """
        store = None if self._store is None else self._store()
        if store is None or not store.has(buffers[0]):
            span = _shared_memory_at(buffers[0].ctypes.data)
            connections = [] if span is None else _connections(self._own)
            if span is None or not connections:
                return None
            store = _OpenStore(span, connections, self._own)
            self._store = weakref.ref(store)
        return store if all(map(store.has, buffers)) else None


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
    `ray.shutdown()`. The connections that are kept open here close with the last result.
    """

    def __init__(self, span: _Span, connections: list[int], own: set[int]) -> None:
        """Take connections, which are file descriptors that are among its `own` ones until they are closed."""
        self._span = span
        own.update(connections)
        weakref.finalize(self, _close, connections, own).atexit = False

    @property
    def nbytes(self) -> int:
        """The size of the store; that of a single object that was put into a file because the store is full."""
        return self._span.end - self._span.begin

    def has(self, buffer: NDArray[np.uint8]) -> bool:
        """Return whether the buffer is in the memory of the store."""
        begin = buffer.ctypes.data
        return self._span.begin <= begin and begin + buffer.nbytes <= self._span.end


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


def _connections(own: set[int]) -> list[int]:
    """Return duplicates of the connections of this process to object stores, except `own` duplicates from before.

    There are none where that cannot be found out.
    """
    if socket.getdefaulttimeout() is not None:  # which the duplicate would take, and its connection with it
        return []
    found: list[int] = []
    with suppress(OSError):
        for name in os.listdir("/proc/self/fd"):
            if int(name) in own or int(name) in found:  # a duplicate may take the number of the folder that was listed
                continue
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


def _close(connections: list[int], own: set[int]) -> None:
    for each in connections:
        own.discard(each)
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

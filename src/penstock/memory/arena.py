"""Arenas: stretches of memory that this process and its workers share, with blocks for batches and results."""

from __future__ import annotations

import mmap
import os
import threading
import weakref
from collections import deque
from functools import lru_cache
from math import prod
from typing import Any, NamedTuple

import numpy as np

from penstock.memory.extents import Extents
from penstock.memory.limits import most_mapped
from penstock.memory.pool import ALIGNMENT
from penstock.memory.shared_file import SharedFile

ARENA_SHARE = 2  # an arena takes at most this part of a budget: what is free in it is left to nobody else
STEP = 32 << 20  # the most bytes to reserve at a time
STEP_SHARE = 8  # and no more than this part of the arena
KEY_BYTES = 16  # at the beginning of the file, before the first block
MOST_MAPPED = 4  # arenas of others in one process; more are mapped anew when they are needed


class Mapping:
    """A shared file mapped into this process, in which offsets mean the same in every process."""

    def __init__(self, fd: int, size: int) -> None:
        self.size = size
        self._map = mmap.mmap(fd, size)
        self._whole = np.frombuffer(self._map, np.uint8)
        self._address: int = self._whole.ctypes.data

    def place_of(self, array: np.ndarray) -> int | None:
        """Return the offset of a C-contiguous array; `None` if it is elsewhere or has gaps."""
        begin = array.__array_interface__["data"][0] - self._address
        return begin if 0 <= begin < self.size and array.flags.c_contiguous else None

    def part(self, begin: int, nbytes: int) -> np.ndarray:
        """Return bytes of the file, `uint8[nbytes]`, for as long as their block is not given back."""
        return self._whole[begin : begin + nbytes]


class Peak:
    """The most bytes of an arena that were in use at a time since this was made."""

    def __init__(self, nbytes: int) -> None:
        self.nbytes = nbytes


class Arena(Mapping):
    """A mapping that hands out blocks, each of which returns once the last view of its array is gone.

    The file has the size of everything that may be in use at a time; its pages are reserved when they are first needed.
    Any thread may take blocks. A block that is let go, perhaps during garbage collection, is only noted, without a
    lock, and is free at the next request. A forked child takes no blocks, since its parent has the same ones.

    Once the last view is gone after the arena itself, its memory goes back to the system, even if other processes still
    map it.
    """

    def __init__(self, file: SharedFile) -> None:
        super().__init__(file.fd, file.size)
        self.file = file
        self._free = Extents()
        self._free.add(min(ALIGNMENT, file.reserved), file.reserved)
        self.key = os.urandom(KEY_BYTES)
        """The first bytes of the file, by which another process knows it."""
        self.part(0, KEY_BYTES)[:] = np.frombuffer(self.key, np.uint8)
        self._returned: deque[tuple[int, int]] = deque()
        self._lock = threading.Lock()
        self._live = 0
        self._peaks = weakref.WeakSet[Peak]()
        self._step = step_of(file.size)
        self._process = os.getpid()
        weakref.finalize(self._map, _emptied, file, self._process).atexit = False

    def allocate(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray | None:
        """Return an array with arbitrary content; `None` if there is no room for it now, or if it holds objects."""
        if dtype.hasobject:
            return None
        block = self.block(prod(shape) * dtype.itemsize)
        return None if block is None else block.view(dtype).reshape(shape)

    def block(self, nbytes: int) -> np.ndarray | None:
        """Return `uint8[nbytes]` with arbitrary content; `None` if there is no room for it now."""
        if os.getpid() != self._process:
            return None
        size = max(-(-nbytes // ALIGNMENT), 1) * ALIGNMENT
        with self._lock:
            self._collect()
            begin = self._free.take(size)
            if begin is None and self._grow(size):
                begin = self._free.take(size)
            if begin is None:
                return None
            self._live += size
            for peak in self._peaks:
                peak.nbytes = max(peak.nbytes, self._live)
        owner = np.ndarray((nbytes,), np.uint8, self._map, begin)  # its base is not an array, so that views refer to it
        weakref.finalize(owner, self._returned.append, (begin, begin + size)).atexit = False
        return owner[:]

    def give_back(self) -> None:
        """Give the memory behind the last block in use back to the system, until it is needed again."""
        if os.getpid() != self._process:
            return
        with self._lock:
            self._collect()
            begin = self._free.take_end(self.file.reserved)
            if begin == self.file.reserved:
                return
            self.file.give_back(begin)
            self._free.add(begin, self.file.reserved)  # the rest of a page
            self._step = 0  # memory is short: no more is reserved at a time than is needed

    def _collect(self) -> None:
        while self._returned:
            begin, end = self._returned.popleft()
            self._free.add(begin, end)
            self._live -= end - begin

    def _grow(self, size: int) -> bool:
        before = self.file.reserved
        if size > self.size - before or not self.file.reserve(before + max(size, self._step)):
            return False
        self._free.add(before, self.file.reserved)
        return True

    @property
    def live_bytes(self) -> int:
        """The number of bytes in blocks that are in use."""
        with self._lock:
            self._collect()
            return self._live

    @property
    def idle_bytes(self) -> int:
        """The number of bytes that are reserved, and free."""
        return self.file.reserved - self.live_bytes

    def peak(self) -> Peak:
        """Return the peak of the bytes in use from now on."""
        with self._lock:
            self._collect()
            peak = Peak(self._live)
            self._peaks.add(peak)
        return peak


# Arenas belong to the process that made them. Each lives as long as a dataset that refers to it, or a view of a block.
_arenas: weakref.WeakValueDictionary[tuple[int, int | None], Arena] = weakref.WeakValueDictionary()


def new_arena(budget: int) -> tuple[Arena | None, str | None]:
    """Return an arena of half of a budget in bytes at most, and what the user should know about it."""
    size = min(max(budget // ARENA_SHARE, 1), most_mapped())
    try:
        arena = Arena(SharedFile(size, step_of(size)))
    except (OSError, ValueError) as error:
        return None, f"no memory is shared with the workers, so batches are copied: {error}"
    return arena, _notice(arena)


def arena_within(budget: int, *, given: bool) -> tuple[Arena | None, str | None]:
    """Return the arena for pools that the user hands in, and what the user should know about it.

    Runs with the same `given` budget share one, and so do all runs without.
    """
    key = os.getpid(), budget if given else None
    found = _arenas.get(key)
    if found is not None:
        return found, _notice(found)
    made, notice = new_arena(budget)
    if made is not None:
        _arenas[key] = made
    return made, notice


def _notice(arena: Arena) -> str | None:
    on_disk = "memory is short, so the memory shared with the workers is that of a temporary file"
    return None if arena.file.in_memory else on_disk


def step_of(size: int) -> int:
    """Return the bytes to reserve at a time in an arena of this size.

    >>> step_of(1 << 40) >> 20, step_of(80 << 20) >> 20
    (32, 10)
    """
    return min(STEP, -(-size // STEP_SHARE))


def _emptied(file: SharedFile, process: int) -> None:
    """Give the memory of a file back that nobody uses any more; a forked child leaves that to its parent."""
    if os.getpid() == process:
        file.empty()


class Door(NamedTuple):
    """The path by which the file of an arena can be opened, its size, and its first bytes.

    The path leads through the process that made the arena: the file needs no name in any folder, and vanishes with that
    process, however it ends.
    """

    path: str
    size: int
    key: bytes


def door_of(arena: Arena) -> Door:
    """Return the way into an arena of this process."""
    return Door(f"/proc/{os.getpid()}/fd/{arena.file.fd}", arena.size, arena.key)


@lru_cache(maxsize=MOST_MAPPED)
def mapped_by(door: Door) -> Mapping:
    """Return the arena behind a door, mapped into this process; raise an `OSError` if it cannot be opened."""
    fd = os.open(door.path, os.O_RDWR | os.O_CLOEXEC | os.O_NOCTTY)
    try:
        if os.fstat(fd).st_size == door.size:
            mapping = Mapping(fd, door.size)
            if mapping.part(0, KEY_BYTES).tobytes() == door.key:
                return mapping
    finally:
        os.close(fd)  # the mapping stays
    raise FileNotFoundError(f"{door.path} is another file here")  # of a process with the same number

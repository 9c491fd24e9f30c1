"""The memory of batches: a pool that takes each block back when the consumer releases it."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.core.arrays import Allocate, AllocateAll, ArrayKind, Reserve
from penstock.core.budget import Budget
from penstock.kernels import Pool

if TYPE_CHECKING:
    from penstock.memory.arena import Arena, Peak

SMALL = 1 << 12  # bytes; below, NumPy's own cache of small blocks is faster than a pool for requests from Python
ALIGNMENT = 128  # bytes, between arrays in one block: a cache line of a GPU, and enough for every vector load
MOST_IDLE = 1 << 28  # bytes kept for the next batches; a steady pipeline needs as many as it has in flight
IDLE_SHARE = 4  # and no more than this part of the memory budget
FREED = 1 << 22  # bytes of a block; twice as many stay with the process once they are freed

# The columns that functions make are freed after each group. The C library of Linux returns freed memory above twice
# the largest block freed so far (256 KiB at first), and the next group would touch new pages. Nothing touches this one.
np.empty(FREED, np.uint8)


class Memory:
    """An allocator of arrays for batches that recycles memory once an array and all its views are gone."""

    def __init__(self) -> None:
        self._most_idle = MOST_IDLE
        self.pool = Pool(MOST_IDLE)
        self.arena: Arena | None = None
        """The memory that worker processes share, if there are some."""
        self._shared: Peak | None = None  # of the arena since it is used here
        self.elsewhere: tuple[int, int] = (0, 0)
        """The bytes in use, and the most so far, of a run that another process makes."""
        self._peak = 0  # of the pool and the arena together
        self._lock = threading.Lock()

    def use(self, arena: Arena | None) -> None:
        """Allocate arrays that worker processes share in this arena."""
        if arena is not self.arena:
            self.arena, self._shared = arena, None if arena is None else arena.peak()

    def within(self, budget: Budget) -> None:
        """Keep no more memory for the next batches than a budget allows, and count that memory in it."""
        most = min(MOST_IDLE, budget.limit // IDLE_SHARE)
        if most != self._most_idle:
            self._most_idle, self.pool = most, Pool(most)
        budget.idle, budget.give_back = lambda: self.idle_bytes, self.give_back

    def give_back(self) -> None:
        """Give what is kept for the next batches back to the system."""
        self.pool.trim()
        if self.arena is not None:
            self.arena.give_back()

    def allocate(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
        """Return an array of this shape and dtype with arbitrary content."""
        if dtype.hasobject or math.prod(shape) * dtype.itemsize < SMALL:
            return np.empty(shape, dtype)
        made = self.pool.empty(shape, dtype)
        if self.arena is not None:  # a pool alone knows its own peak
            self._note_peak(self.arena)
        return made

    def allocate_shared(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
        """Return an array of this shape and dtype in the arena, if there is room for it, with arbitrary content."""
        arena = self.arena
        shared = None if arena is None else arena.allocate(shape, dtype)
        if arena is None or shared is None:
            return Memory.allocate(self, shape, dtype)
        self._note_peak(arena)
        return shared

    def _note_peak(self, arena: Arena) -> None:
        """Note the bytes in use, here and in the arena, if they are the most so far."""
        live = self.pool.bytes_live + arena.live_bytes
        if live > self._peak:
            with self._lock:
                self._peak = max(self._peak, live)

    @property
    def idle_bytes(self) -> int:
        """The number of bytes kept for the next batches, in the pool and in the arena."""
        return self.pool.bytes_idle + (0 if self.arena is None else self.arena.idle_bytes)

    @property
    def live_bytes(self) -> int:
        """The number of bytes in arrays that are still in use."""
        return self.elsewhere[0] + self.pool.bytes_live + (0 if self.arena is None else self.arena.live_bytes)

    @property
    def peak_bytes(self) -> int:
        """The largest number of bytes in use at the same time, in the pool and in the arena.

        If there are both, the sum is that at the requests for arrays, and at least the peak of each. What other
        datasets have in the arena at the same time counts too.
        """
        shared = 0 if self._shared is None else self._shared.nbytes
        return self.elsewhere[1] + max(self._peak, self.pool.bytes_peak, shared)

    def after_fork(self) -> None:
        """Begin a new pool in a forked child, and leave the parent's alone."""
        self.pool = Pool(self._most_idle)
        self.use(None)
        self._lock = threading.Lock()  # which a thread of the parent may have held


class SharedMemory(Memory):
    """Memory that another process sees too: arrays are in an arena as far as it has room for them."""

    def __init__(self, arena: Arena | None) -> None:
        super().__init__()
        self.use(arena)

    def allocate(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
        """Return an array of this shape and dtype with arbitrary content."""
        small = dtype.hasobject or math.prod(shape) * dtype.itemsize < SMALL
        return super().allocate(shape, dtype) if small else self.allocate_shared(shape, dtype)


def each_alone(allocate: Allocate) -> AllocateAll:
    """Return a function that allocates each array separately: one that is kept keeps no other.

    >>> [array.shape for array in each_alone(np.empty)([((2, 3), np.dtype("f4")), ((2,), np.dtype("i8"))])]
    [(2, 3), (2,)]
    """
    return lambda kinds: [allocate(shape, dtype) for shape, dtype in kinds]


def in_one_block(reserve: Reserve) -> AllocateAll:
    """Return a function that places all arrays it is asked for in one block from `reserve`.

    One copy then moves them all. Each array begins at a multiple of `ALIGNMENT` bytes; arrays of objects are elsewhere.

    >>> of, label = in_one_block(lambda nbytes: np.zeros(nbytes, np.uint8))(
    ...     [((2, 3), np.dtype("f4")), ((2,), np.dtype("i8"))]
    ... )
    >>> label.ctypes.data - of.ctypes.data, of.shape
    (128, (2, 3))
    """

    def allocate(kinds: Sequence[ArrayKind]) -> list[np.ndarray]:
        sizes = [0 if dtype.hasobject else math.prod(shape) * dtype.itemsize for shape, dtype in kinds]
        begins = list(accumulate((-(-size // ALIGNMENT) * ALIGNMENT for size in sizes), initial=0))
        block = reserve(begins[-1])
        return [
            np.empty(shape, dtype) if dtype.hasobject else block[low : low + size].view(dtype).reshape(shape)
            for (shape, dtype), low, size in zip(kinds, begins, sizes, strict=False)
        ]

    return allocate

"""Freed memory that the C library keeps for later: it goes back to the system once it is too much."""

from __future__ import annotations

import os
from contextlib import suppress
from time import monotonic_ns

from penstock.memory.pool import FREED

KEPT_SHARE = 8  # what is kept in all processes of a run is at most this part of its memory budget
HEAPS = 4  # of threads that make elements
LEAST_BLOCK = 128 << 10  # bytes, as the C library begins with
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
BETWEEN_LOOKS = 5_000_000  # ns between two looks of a run; in less time elements do not take much memory


class FreedMemory:
    """The memory that this process has freed and still has: at most `most` bytes, as often as somebody looks.

    The C library keeps the memory of elements for the next ones, but of elements of many sizes it keeps far more than
    it uses. What else is in use is what was left after memory went back the last time.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._in_use = private_bytes()
        self._next = 0

    @property
    def is_due(self) -> bool:
        """True once in a few milliseconds."""
        now = monotonic_ns()
        if now < self._next:
            return False
        self._next = now + BETWEEN_LOOKS
        return True

    def look(self, counted: int = 0) -> int:
        """Give memory back if there is too much, beside the `counted` bytes of a run; return what the process has left.

        >>> FreedMemory(1 << 30).look() > 0
        True
        """
        now = private_bytes()
        if now - counted > self._in_use + self._most:
            give_back()
            now = private_bytes()
            self._in_use = now - counted
        else:
            self._in_use = min(self._in_use, now - counted)
        return now


class Holding:
    """The bytes that a worker process holds beside its tasks: caches, what functions keep, and freed memory.

    What the interpreter, libraries and plans take does not count: the first task of a plan loads them.
    """

    def __init__(self, most: int) -> None:
        """Give freed memory back above `most` bytes."""
        self._freed = FreedMemory(most)
        self._unheld = private_bytes()
        self._plans = 0
        self.nbytes = 0

    def look(self, plans: int) -> None:
        """Look between two tasks; `plans` were loaded so far."""
        private = self._freed.look()
        if plans != self._plans:
            self._plans, self._unheld = plans, private - self.nbytes
        self.nbytes = max(private - self._unheld, 0)


def keep_less(most: int) -> None:
    """Let the C library keep less freed memory in the heap of each thread, `most` in all, unless the user decides that.

    At the end of a heap it keeps twice the size of the largest block freed so far, and `give_back` reaches the end of
    the first heap only. Larger blocks than a heap may keep go back to the system at once.
    """
    if "MALLOC_MMAP_THRESHOLD_" in os.environ or "MALLOC_TRIM_THRESHOLD_" in os.environ:
        return
    import ctypes

    block = min(max(most // HEAPS // 2, LEAST_BLOCK), FREED)
    with suppress(OSError, AttributeError):
        library = ctypes.CDLL(None)
        library.mallopt(M_MMAP_THRESHOLD, block)
        library.mallopt(M_TRIM_THRESHOLD, 2 * block)


def resident_bytes() -> tuple[int, int]:
    """Return the bytes of memory that this process has, and those that it shares or maps; 0 if the system has none."""
    with suppress(OSError):
        file = os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)
        try:
            _, resident, shared = os.read(file, 128).split()[:3]
        finally:
            os.close(file)
        page = os.sysconf("SC_PAGE_SIZE")
        return int(resident) * page, int(shared) * page
    return 0, 0


def private_bytes() -> int:
    """Return the bytes of memory that only this process has."""
    resident, shared = resident_bytes()
    return resident - shared


def give_back() -> None:
    """Return all whole pages of freed memory to the system, if the C library can."""
    import ctypes

    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)

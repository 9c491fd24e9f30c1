"""Free parts of a stretch of memory, by their offsets."""

from __future__ import annotations

from bisect import bisect_left


class Extents:
    """The free extents of a stretch, each from an offset to another; neighbors are joined.

    >>> free = Extents()
    >>> free.add(0, 100)
    >>> free.take(30), free.take(30), free.take(60)
    (0, 30, None)
    >>> free.add(0, 30)
    >>> free.add(30, 60)
    >>> free.take(100)
    0
    """

    def __init__(self) -> None:
        self._begins: list[int] = []
        self._ends: list[int] = []

    def add(self, begin: int, end: int) -> None:
        """Add a free extent, which overlaps no other."""
        if begin == end:
            return
        at = bisect_left(self._begins, begin)
        if at < len(self._begins) and self._begins[at] == end:
            end = self._ends[at]
            del self._begins[at], self._ends[at]
        if at and self._ends[at - 1] == begin:
            self._ends[at - 1] = end
            return
        self._begins.insert(at, begin)
        self._ends.insert(at, end)

    def take(self, size: int) -> int | None:
        """Take the first free place of this size, so that memory used before is used again; `None` if there is none."""
        for at, (begin, end) in enumerate(zip(self._begins, self._ends, strict=True)):
            if end - begin >= size:
                if end - begin == size:
                    del self._begins[at], self._ends[at]
                else:
                    self._begins[at] = begin + size
                return begin
        return None

    def take_end(self, end: int) -> int:
        """Take the free extent that reaches up to `end`, and return where it begins; `end` if there is none."""
        if not self._ends or self._ends[-1] != end:
            return end
        self._ends.pop()
        return self._begins.pop()

    @property
    def size(self) -> int:
        """The number of free bytes."""
        return sum(self._ends) - sum(self._begins)

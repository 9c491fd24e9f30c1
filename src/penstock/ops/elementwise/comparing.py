"""Choose the elements that a traced function makes both ways, in columns and one by one."""

from __future__ import annotations

from penstock.elements.chunks.chunk import Columns

FIRST = 256  # elements that are compared before columns are trusted
FIRST_BYTES = 1 << 23  # bytes of columns after which fewer elements are enough: large ones, such as batches
NEXT = 1 << 12  # rows until the next comparison
RARELY = 1 << 20  # maximum number of rows between two comparisons
SELDOM = 1 << 23  # bytes of columns that take a hundred times as long as one element
SPREAD = 0x9E3779B1


class Comparing:
    """Count the rows made in columns, and choose which of them to compare with single elements.

    The first `FIRST` rows, or `FIRST_BYTES`, are compared, in however many chunks they come; after that one row at a
    time, at positions that differ from chunk to chunk. The distance between comparisons doubles up to `RARELY`, so
    comparing takes about one percent of the time. Threads share the counts without a lock: a lost update causes one
    more comparison.
    """

    def __init__(self) -> None:
        self._compared = 0
        self._bytes = 0  # of the first rows
        self._left = 0  # rows until the next comparison

    def due(self, columns: Columns) -> slice | None:
        """Return the rows of these columns to compare."""
        count, compared = len(columns), self._compared
        if compared < FIRST:
            self._bytes += _bytes_of(columns)
            self._compared = FIRST if self._bytes >= FIRST_BYTES else compared + min(count, FIRST - compared)
            self._left = min(_interval(columns), NEXT)
            return slice(0, FIRST - compared)
        left = self._left - count
        if left > 0:
            self._left = left
            return None
        self._left = min(_interval(columns), NEXT << min(compared - FIRST, 30))
        self._compared = compared + 1
        at = compared * SPREAD % count
        return slice(at, at + 1)


def _interval(columns: Columns) -> int:
    """Return the maximum number of rows between two comparisons, from the size of these columns."""
    return min(max(SELDOM * len(columns) // max(_bytes_of(columns), 1), FIRST), RARELY)


def _bytes_of(columns: Columns) -> int:
    return sum(getattr(column, "nbytes", 0) for column in columns.columns)

"""The choice of elements that a traced function makes both ways, in columns and one by one."""

from __future__ import annotations

from penstock.elements.chunks.chunk import Columns

FIRST = 256  # elements that are compared before columns are taken at their word
NEXT = 1 << 12  # rows until the next comparison
RARELY = 1 << 20  # rows, at most, from one comparison to the next after that
SELDOM = 1 << 23  # bytes of columns that take a hundred times as long as one element
SPREAD = 0x9E3779B1


class Comparing:
    """Counts the rows that came out of columns, and says which of them to compare with elements.

    That is the first `FIRST` of them, in however many chunks they come, and then one at a time, at places that differ
    from chunk to chunk, each after twice as many rows as the one before, up to `RARELY`: so seldom that it takes about
    a hundredth of the time. Threads share the counts without a lock: what one of them loses of another's is compared
    once more.
    """

    def __init__(self) -> None:
        self._compared = 0
        self._left = 0  # rows until the next comparison

    def due(self, columns: Columns) -> slice | None:
        """The elements of these columns to compare."""
        count, compared = len(columns), self._compared
        if compared < FIRST:
            self._compared = compared + min(count, FIRST - compared)
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
    """The rows from one comparison to the next, by the size of these."""
    made = sum(getattr(column, "nbytes", 0) for column in columns.columns)
    return min(max(SELDOM * len(columns) // max(made, 1), FIRST), RARELY)

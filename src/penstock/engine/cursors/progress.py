"""The items of the epoch that the consumer has received."""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence
from typing import Protocol

from penstock.engine.cursors.cursor import Cursor


class LostSpan(Protocol):
    """Anything that covers the items from `low` to `high`, such as a task."""

    @property
    def low(self) -> int:
        """The first item."""
        ...

    @property
    def high(self) -> int:
        """The item after the last one."""
        ...


class ReceivedItems:
    """Items received: all before one row, and spans after it if items are handed out in the order they finish."""

    def __init__(self, cursor: Cursor) -> None:
        self._seed = cursor.seed
        self._epoch = cursor.epoch
        self._drawn = cursor.drawn
        self._row = cursor.row
        self._ahead = list(cursor.ahead)

    def receive(self, low: int, high: int) -> None:
        """Count items `low` to `high` as received."""
        if low == self._row and not self._ahead:
            self._row = high
        elif low < high:
            insort(self._ahead, (low, high))
        while self._ahead and self._ahead[0][0] == self._row:
            self._row = self._ahead.pop(0)[1]

    def cursor(self) -> Cursor:
        """Return the position to resume from."""
        return Cursor(self._seed, self._epoch, self._row, tuple(self._ahead), drawn=self._drawn)

    def copy(self) -> ReceivedItems:
        """Return an independent copy at the same position."""
        return ReceivedItems(self.cursor())


def received_between(lost: Sequence[LostSpan], after: int, received: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the spans received before, and those between lost tasks up to item `after`, sorted."""
    starts = [span.high for span in lost]
    ends = [*(span.low for span in lost[1:]), after]
    gaps = [(low, high) for low, high in zip(starts, ends, strict=True) if low < high]
    return sorted(gaps + received)

"""Which items of the epoch the consumer has received."""

from __future__ import annotations

from bisect import insort

from penstock.engine.cursor import Cursor
from penstock.engine.parcel import Parcel


class Progress:
    """The items received: all before `row`, and spans ahead of it where items come as they are finished."""

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
        """The position to go on from."""
        return Cursor(self._seed, self._epoch, self._row, tuple(self._ahead), drawn=self._drawn)

    def copy(self) -> Progress:
        """A progress of its own that stands at the same place."""
        return Progress(self.cursor())


def received_between(lost: list[Parcel], after: int, received: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The spans between lost parcels that were received, and those received before."""
    starts = [parcel.high for parcel in lost]
    ends = [*(parcel.low for parcel in lost[1:]), after]
    gaps = [(low, high) for low, high in zip(starts, ends, strict=True) if low < high]
    return sorted(gaps + received)

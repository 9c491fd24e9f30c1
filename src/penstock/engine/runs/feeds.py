"""The feeds of a stage: rows of an indexed plan, or pieces of the stream below."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, cast

import numpy as np

from penstock.core.arrays import Rows
from penstock.core.errors import CursorError
from penstock.core.seeds import mix
from penstock.engine.tasks.read_ahead import RowsOf
from penstock.engine.tasks.task import NOTHING, Job, Task
from penstock.plan.flow import BEYOND, Mark, Open, Piece, Reader, resumed
from penstock.plan.graph import post_order
from penstock.plan.node import Node


class Feed(Protocol):
    """A source of a stage's jobs, one after another, with the mark after each of their items."""

    end: int
    """The end of the positions that `rows_of` accepts."""

    @property
    def rows_of(self) -> RowsOf | None:
        """The function that returns the rows of later positions, if they are known."""
        ...

    def take(self, count: int, wanted: int | None = None) -> Job | None:
        """Return a job of up to `count` items with one bare task, or `None` at the end.

        `wanted` is the number of elements that the caller needs before it can pass anything on.
        """
        ...

    def close(self) -> None: ...


OpenFeed = Callable[[int, Mark], Feed]
"""Function that opens the feed of an epoch, from a mark on."""


class RowFeed:
    """A feed of the rows of an epoch of an indexed plan, every `step`-th from `first` on; a mark is the next row.

    Rows in `received`, which holds half-open spans in ascending order, are left out.
    """

    def __init__(
        self,
        plan: Node,
        epoch: int,
        mark: Mark = None,
        *,
        first: int = 0,
        step: int = 1,
        received: Sequence[tuple[int, int]] = (),
    ) -> None:
        stride, epoch = plan.stride, _countable(epoch, plan)
        (row,) = resumed(None if mark is None else [mark], (first,))
        if row >= stride + step or row % step != first:
            raise CursorError(BEYOND)
        self.end = stride
        self._row = row
        self._first, self._step = first, step
        self._begin = epoch * stride
        self._received = list(received)

    def take(self, count: int, wanted: int | None = None) -> Job | None:
        """Return a job of the next rows; a job ends before a span that was received."""
        while self._received and self._received[0][0] <= self._row:
            self._row = max(self._row, self._received.pop(0)[1])
        low, step = self._row, self._step
        if low >= self.end:
            return None
        end = self._received[0][0] if self._received else self.end
        rows = np.arange(self._begin + low, self._begin + min(low + step * count, end), step, dtype=np.int64)
        self._row = high = low + step * len(rows)
        return Job(Task(low, high, Piece(NOTHING, rows)), lambda count: low + step * count)

    def rows_of(self, low: int, high: int) -> tuple[Rows, int]:
        """Return the rows of positions `low` to `high`, and the end of the positions returned."""
        begin, step = self._begin, self._step
        return np.arange(begin + low + (self._first - low) % step, begin + high, step), high

    def close(self) -> None:
        """Do nothing: rows are arithmetic."""


class PieceFeed:
    """A feed of the elements of a stream; marks are those of a reader.

    With `each_from_one` (each output element is made from one of these) the feed requests as many as the caller wants.
    """

    rows_of = None
    end = 0

    def __init__(self, source: Open, epoch: int, mark: Mark = None, *, each_from_one: bool = False) -> None:
        self._reader = Reader(source, epoch, mark)
        self._each_from_one = each_from_one

    def take(self, count: int, wanted: int | None = None) -> Job | None:
        """Return a job of up to `count` elements at hand; the job announces the mark of an empty piece."""
        reader = self._reader
        if not reader.ready(wanted if self._each_from_one else None):
            return None
        announces = reader.take_passed_empty()
        before, at = reader.mark
        given = cast("Piece", reader.read(count))
        after, taken = reader.mark, len(given)  # a mark after whole pieces counts no elements from an earlier one
        return Job(
            Task(0, taken, given),
            lambda count: after if count == taken else [before, at + count],
            announces=announces,
        )

    def close(self) -> None:
        """Stop the stream below."""
        self._reader.close()


def _countable(epoch: int, plan: Node) -> int:
    """Return the epoch; a hash of it if an `int64` cannot count its rows."""
    epochs = (1 << 63) // max(node.stride for node in post_order(plan)) if plan.stride else 1
    return epoch if epoch < epochs else mix(epoch) % epochs

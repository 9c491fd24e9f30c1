"""Some consecutive items under way: the memory they are written to and the tasks that write them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.core.arrays import Rows

if TYPE_CHECKING:
    from concurrent.futures import Future

Result = Any  # what a task made (Stacked, Listed, Spreaded), or the exception that it ended with


class Parcel:
    """Items `low` to `high` of an epoch, in one or several pieces, each the work of one task.

    `results` has a place for each piece, filled as tasks finish: what the task made, or the exception it ended with.
    """

    __slots__ = (
        "fails",
        "futures",
        "high",
        "items",
        "low",
        "memory",
        "missing",
        "nbytes",
        "results",
        "rows",
        "soon",
        "told",
    )

    def __init__(self, low: int, high: int, rows: Rows, pieces: int) -> None:
        self.low = low
        self.high = high
        self.items = high - low
        self.rows: list[Rows] = [rows] if pieces == 1 else np.array_split(rows, pieces)
        self.memory: list[np.ndarray] | None = None
        self.nbytes = 0
        self.results: list[Result | None] = [None] * len(self.rows)
        self.missing = len(self.rows)
        self.fails = False  # whether a task ended with an exception
        self.futures: list[Future[Any]] = []
        self.told = 0  # pieces, from the first on, whose cost the tuner knows already
        self.soon: Rows | None = None  # rows of later parcels, of which the first task tells the sources

    def share(self, piece: int) -> float:
        """How many items a piece makes: a fraction, where several make one."""
        if len(self.rows) == 1:
            return self.items
        return self.items * len(self.rows[piece]) / sum(map(len, self.rows))

    def divide(self, parts: list[Rows]) -> None:
        """Replace the last piece, whose task has not begun, by several of these rows."""
        self.rows[-1:] = parts
        self.results += [None] * (len(parts) - 1)
        self.missing += len(parts) - 1

    def split_last(self, pieces: int) -> None:
        """Replace the last piece by `pieces`, or by one for each row."""
        rows = self.rows[-1]
        self.divide(np.array_split(rows, min(pieces, len(rows))))

    def memory_of(self, piece: int) -> list[np.ndarray] | None:
        """The part of the memory that a piece writes: an array of shape (k, ...) for each leaf."""
        if self.memory is None or len(self.rows) == 1:
            return self.memory
        low = sum(map(len, self.rows[:piece]))
        return [array[low : low + len(self.rows[piece])] for array in self.memory]

    def fill(self, piece: int, result: Result) -> None:
        """Take in what a task ended with."""
        self.results[piece] = result
        self.missing -= 1
        if isinstance(result, BaseException):
            self.fails = True

    def failure(self) -> BaseException | None:
        """The exception of the first piece that has one."""
        return next((result for result in self.results if isinstance(result, BaseException)), None)

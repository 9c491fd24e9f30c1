"""The counts of one operation."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from penstock.elements.chunks.chunk import Chunk, Columns
from penstock.elements.size import size_of_columns, size_of_element
from penstock.watch.sampled import SAMPLE, Tally, Unmeasured

if TYPE_CHECKING:
    from penstock.plan.node import Node
    from penstock.watch.outlines import NodeOutline

Cell = list[int]
"""Counts of one operation and thread: calls, rows, wall ns, CPU ns, bytes, input elements, and failed elements.

The last two are the number of quick calls since the call measured last, and their rows: neither is in the others yet.
"""
COUNTS = 9
CALLS, ROWS, WALL, CPU, BYTES, GIVEN, FAILED, SKIPPED, ROWS_SKIPPED = range(COUNTS)

QUICK = 2_000_000  # ns; of calls that take less, one in some is measured for all, since measuring takes up to 10 µs
FIRST_CALLS = 4  # calls, after which some may go unmeasured
ALIKE = 5  # the factor by which arithmetic on rows, all calls of which cost alike, may take longer
UNKNOWN_COST = 1 << 62  # ns

Note: TypeAlias = Callable[[int, int, int], object]
"""Takes the begin of a call, the time it took (both in ns), and its rows."""


@dataclass(eq=False)
class OperationCounters:
    """The counts of one operation, a cell for each thread, so that no thread waits for another."""

    node: Node | NodeOutline
    inputs: list[OperationCounters]
    contains_inputs: bool  # whether the time includes that of the inputs
    sequential: bool = False  # makes one piece after another
    cells: dict[int, Cell] = field(default_factory=dict)
    each: int = 0  # bytes of the element sampled last
    is_sampled: bool = False  # whether quick calls may go unmeasured
    took: int = UNKNOWN_COST  # ns of the call measured last
    took_below: int = 0  # ns of its arithmetic on rows
    took_rows: int = 0  # rows of that call
    most_each: int = UNKNOWN_COST  # ns of an element from which on no call is quick
    unmeasured: list[tuple[Unmeasured, int]] = field(default_factory=list)
    tallies: list[tuple[Tally, bool, bool]] = field(default_factory=list)
    note: Note | None = None  # called with each call that is long enough to see, if anybody looks at calls

    def cell(self) -> Cell:
        """Return the calling thread's counts."""
        ident = threading.get_ident()
        found = self.cells.get(ident)
        if found is None:
            found = self.cells[ident] = [0] * COUNTS
        return found

    @property
    def is_quick(self) -> bool:
        """True if calls of late were so quick that some may go unmeasured."""
        return self.is_sampled and self.took + self.took_below // ALIKE < QUICK

    def skip(self, calls: int, rows: int) -> None:
        """Count calls that were not measured, for the next one that is."""
        cell = self.cell()
        cell[SKIPPED] += calls
        cell[ROWS_SKIPPED] += rows

    def bytes_of(self, chunk: Chunk, calls: int) -> int:
        """Return the bytes of a chunk; for elements not taken apart, multiply those of an occasional sample."""
        count = len(chunk)
        if isinstance(chunk, Columns):
            nbytes = size_of_columns(chunk.columns)
            self.each = nbytes // max(count, 1)
            return nbytes
        if count and calls_for(calls):
            self.each = size_of_element(chunk.element(0))
        return self.each * count

    def total(self) -> Cell:
        """Return the counts of all threads, with calls that were not measured yet.

        These count at the cost of the last, and at the mean size of elements: the last ones may be a short batch.
        """
        sums = [sum(counts) for counts in zip(*list(self.cells.values()), strict=True)] or [0] * COUNTS
        each = sums[BYTES] // sums[ROWS] if sums[BYTES] else self.each
        calls, rows, sums[SKIPPED:] = *sums[SKIPPED:], [0, 0]
        for since, place in list(self.unmeasured):
            more, their_rows = since.of(place)
            calls, rows = calls + more, rows + their_rows
        if rows and sums[WALL] and self.took < UNKNOWN_COST:
            wall = rows * (self.took + self.took_below) // max(self.took_rows, 1)
            sums[CPU] += wall * sums[CPU] // sums[WALL]
            sums[WALL] += wall
        for tally, of_batches, has_time in list(self.tallies):
            for at, count in enumerate(tally.of(of_batches=of_batches, has_time=has_time)):
                sums[at] += count
        sums[CALLS] += calls
        sums[ROWS] += rows
        sums[BYTES] += each * rows
        return sums


def calls_for(calls: int) -> int:
    """Return the number of calls that the CPU time of the next call represents; 0 if it is not measured."""
    return 1 if calls < SAMPLE else SAMPLE if calls % SAMPLE == 0 else 0

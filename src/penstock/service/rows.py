"""Rows of an indexed plan, prepared for several consumers: each is made once while it is kept."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

import numpy as np

from penstock.core.arrays import Rows
from penstock.elements.chunks.chunk import Chunk, concat
from penstock.elements.footprint import memory_of
from penstock.engine.cursors.cursor import Cursor
from penstock.engine.runs.run import Run
from penstock.engine.runs.scope import CarryOver
from penstock.engine.tasks.compile import compiled
from penstock.engine.tasks.observer import Unobserved
from penstock.engine.tuning.settings import Settings, settings_of
from penstock.engine.workers.lifetime import worker_thread
from penstock.memory.pool import Memory
from penstock.plan.node import Node
from penstock.service.lanes import Lanes
from penstock.service.made import MadeRows

MOST_LANES = 4
"""Places of a pipeline at which a service goes on at a time."""
LANE_AHEAD = 4  # pieces that a lane makes before anybody asks for them
KEPT_PART = 2  # of the memory budget are kept elements: half; the lanes have the other half
ROW_BYTES = 200  # of the entries that say where a kept row is
NEAR_SPANS = 32  # requests of the same size that may lie between a lane and a row for which it is waited
NEAR_ROWS = 256  # and at least this many rows
SPARSE = 1024  # a request with fewer than 1 of 1024 rows of its span is of no reader that goes on in order
MISSES = 16  # requests that are remembered to notice those that follow


def lane_settings(plan: Node, *, spares_process: bool = False) -> Settings:
    """Return the settings of a run that makes elements for a service, in order and within its part of the budget.

    If it `spares_process`, worker processes make the elements, some of which may end the process that makes them.
    """
    settings = settings_of(plan)
    part = max(settings.memory_budget // (KEPT_PART * MOST_LANES), 1)
    made = replace(settings, isolate=False, hosted=True, ordered=True, memory_budget=part)
    return made.sparing_process() if spares_process else made


class RowLane:
    """A run that makes consecutive rows from `head` on, up to a few beyond those that were asked for."""

    def __init__(self, run: Run, head: int, end: int) -> None:
        self.run = run
        self.head = head
        self.end = end  # of the epoch
        self.wanted = head
        self.last_piece = 1  # rows
        self.is_closed = False
        self.used = 0

    def comes_to(self, row: int, near: int) -> bool:
        """Return whether a row will be made soon enough to wait for it."""
        return self.head <= row < self.end and row - self.head <= near


class PreparedRows(Lanes[RowLane]):
    """The rows of a plan, made by a few runs from the places where consumers are; others are made one by one."""

    def __init__(self, plan: Node, run: Node, memory: Memory | None = None, *, spares_process: bool = False) -> None:
        """Prepare rows of `plan`, as it is run by `run`, in this memory as far as it can hold them."""
        super().__init__()
        self._plan = run
        self._settings = lane_settings(plan, spares_process=spares_process)
        self._carry_over = CarryOver(memory)
        self._program = compiled(run, self._carry_over.memory.allocate, Unobserved())
        self._most = settings_of(plan).memory_budget // KEPT_PART
        self._kept: dict[int, tuple[Chunk, int]] = {}  # by row: a chunk, and the position in it
        self._order: deque[tuple[list[int], Chunk, int]] = deque()  # rows, chunk and bytes, the oldest first
        self._rows = 0  # that are kept
        self._nbytes = 0
        self._waiting: list[tuple[list[int], dict[int, tuple[Chunk, int]]]] = []  # rows missing, and found, of requests
        self._made_before = MadeRows()
        self._making: set[int] = set()
        self._begun: set[int] = set()  # epochs
        self._misses: deque[int] = deque(maxlen=MISSES)  # the rows after requests that no lane could serve
        self._requests = 0

    def rows(self, rows: Rows, careful: bool = False) -> Chunk:
        """Return the elements of some rows; `careful` makes none but these."""
        wanted = rows.tolist()
        if not wanted:
            return self._program(rows)
        span = max(wanted) - min(wanted) + 1
        near = max(NEAR_SPANS * span, NEAR_ROWS)
        is_alone = careful and not self._settings.spares_process
        in_order = not is_alone and len(wanted) * SPARSE >= span and wanted == sorted(wanted)
        if in_order:
            self._begin_lane(wanted[0], wanted[-1] + 1, near)
        found: dict[int, tuple[Chunk, int]] = {}
        missing = sorted(set(wanted))
        with self._changed:
            self._waiting.append(request := (missing, found))
        try:
            while missing:
                if alone := self._taken(missing, found, near if in_order else -1):
                    self._make(alone)
        finally:
            with self._changed:
                self._waiting = [each for each in self._waiting if each is not request]
        return _chunk_of([found[row] for row in wanted])

    def _taken(self, missing: list[int], found: dict[int, tuple[Chunk, int]], near: int) -> list[int]:
        """Move kept rows from `missing` to `found`; return those to be made now, or wait for a change."""
        with self._changed:
            self._requests += 1
            alone: list[int] = []
            for row in missing:
                if row in self._kept:
                    found[row] = self._kept[row]
                elif row in found:
                    pass
                elif (lane := self._lane_to(row, near)) is not None:
                    lane.wanted, lane.used = max(lane.wanted, row + 1), self._requests
                elif row not in self._making:
                    alone.append(row)
            count = len(missing)
            missing[:] = [row for row in missing if row not in found]
            self._making.update(alone)
            self._changed.notify_all()  # lanes
            if not alone and len(missing) == count:
                self._changed.wait()
            return alone

    def _lane_to(self, row: int, near: int) -> RowLane | None:
        return next((lane for lane in self._lanes if lane.comes_to(row, near)), None)

    def _make(self, rows: list[int]) -> None:
        """Make rows that no run will make soon."""
        try:
            made = np.array(rows, np.int64)
            chunk = self._made(made)
            with self._changed:
                self._keep(made, chunk)
        finally:
            with self._changed:
                self._making.difference_update(rows)
                self._changed.notify_all()

    def _made(self, rows: Rows) -> Chunk:
        if not self._settings.spares_process:
            return self._program(rows)
        alone = replace(self._settings, depth=1, one_by_one=True)
        made: list[Chunk] = []
        for epoch, position in zip(*(each.tolist() for each in np.divmod(rows, self._plan.stride)), strict=True):
            run = Run(self._plan, alone, Unobserved(), Cursor(0, epoch, position), self._carry_over)
            try:
                run.begin()
                if (piece := run.hand_over()) is not None:
                    made.append(piece.chunk.slice(0, 1))
            finally:
                run.close()
        return concat(made)

    def _keep(self, rows: Rows, chunk: Chunk) -> None:
        """Keep elements until others need their memory, those kept first; who waits for them has them at once."""
        numbers = rows.tolist()
        self.again += self._made_before.add(np.array([row for row in numbers if row not in self._kept], np.int64))
        nbytes = memory_of(chunk) + ROW_BYTES * len(numbers)
        self._kept.update((row, (chunk, position)) for position, row in enumerate(numbers))
        self._order.append((numbers, chunk, nbytes))
        self._nbytes += nbytes
        self._rows += len(numbers)
        for missing, found in self._waiting:
            if numbers and missing and missing[0] <= numbers[-1] and numbers[0] <= missing[-1]:
                found.update((row, self._kept[row]) for row in missing if row in self._kept)
        while self._nbytes > self._most and len(self._order) > 1:
            before, old, freed = self._order.popleft()
            self._nbytes -= freed
            self._rows -= len(before)
            for row in before:
                if self._kept[row][0] is old:
                    del self._kept[row]

    # Lanes

    def _begin_lane(self, first: int, end: int, near: int) -> None:
        """Begin a run at the first row of a request, if the requests seem to go on from there."""
        with self._changed:
            epoch = first // self._plan.stride
            if first in self._kept or self._lane_to(first, near) is not None:
                return
            follows = any(0 <= first - miss <= near for miss in self._misses)
            if epoch in self._begun and not follows:
                self._misses.append(end)
                return
            begin = epoch * self._plan.stride
            if epoch not in self._begun and first - begin <= near:
                first = begin
            self._begun.add(epoch)
            if len(self._lanes) == MOST_LANES:
                self._end_lane(min(self._lanes, key=lambda lane: lane.used))
            run = Run(self._plan, self._settings, Unobserved(), Cursor(0, epoch, first - begin), self._carry_over)
            lane = RowLane(run, first, begin + self._plan.stride)
            lane.used = self._requests
            self._lanes.append(lane)
        worker_thread(self._run, lane).start()

    def _run(self, lane: RowLane) -> None:
        """Make the rows of a lane, up to those that another lane has made."""
        try:
            lane.run.begin()
            while self._waited_for_turn(lane):
                piece = lane.run.hand_over()
                if piece is None:
                    break
                with self._changed:
                    self._keep(piece.ids, piece.chunk)
                    lane.head += len(piece)
                    lane.last_piece = len(piece) or lane.last_piece
                    self._changed.notify_all()
        except BaseException:  # noqa: BLE001, S110 - who asks for the row at fault makes it alone, and is told the error
            pass
        finally:
            with self._changed:
                self._end_lane(lane)
            lane.run.close()

    def _waited_for_turn(self, lane: RowLane) -> bool:
        with self._changed:
            self._changed.wait_for(lambda: lane.is_closed or lane.head < lane.wanted + self._rows_ahead(lane))
            return not lane.is_closed and lane.head < lane.end and lane.head not in self._kept

    def _rows_ahead(self, lane: RowLane) -> int:
        """Return how many rows a lane may make before anybody asks for them: no more than the lanes can all keep."""
        fit = self._most * max(self._rows, 1) // max(MOST_LANES * self._nbytes, 1)
        return min(LANE_AHEAD * lane.last_piece, fit)


def _chunk_of(places: Sequence[tuple[Chunk, int]]) -> Chunk:
    """Return the elements at these places, in order."""
    return concat(list(_parts(places)))


def _parts(places: Sequence[tuple[Chunk, int]]) -> Iterator[Chunk]:
    for _, group in groupby(places, key=lambda place: id(place[0])):
        run = list(group)
        chunk, positions = run[0][0], np.array([position for _, position in run])
        is_whole = len(positions) == len(chunk) and bool((positions == np.arange(len(chunk))).all())
        yield chunk if is_whole else chunk.select(positions)

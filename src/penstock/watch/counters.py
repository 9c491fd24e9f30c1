"""What every operation took, counted from outside it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from time import perf_counter_ns, thread_time_ns
from typing import Any

import numpy as np

from penstock.core.arrays import Rows
from penstock.elements.chunks.chunk import Chunk, Column, Columns, Mended
from penstock.elements.ragged import Ragged
from penstock.elements.size import size_of
from penstock.elements.sparse import Sparse
from penstock.plan.flow import Asked, Mark, Open, Piece, Spread, close, pulled
from penstock.plan.node import Node
from penstock.plan.step import Step
from penstock.plan.types import Program

Cell = list[int]
"""Of one operation and thread: calls, rows, wall ns, CPU ns, bytes, elements given, and those that failed."""
COUNTS = 7
CALLS, ROWS, WALL, CPU, BYTES, GIVEN, FAILED = range(COUNTS)


FEW = 16  # rows of a call whose bytes are those of others
SAMPLE = 16  # what a thread has spent on CPU is dear to ask for, so of many calls one in so many tells it for all


@dataclass(eq=False)
class Operation:
    """The counts of one node's program, a cell for each thread, so that no thread waits for another."""

    label: str
    inputs: list[Operation]
    contains_inputs: bool = False  # whether what is spent in the inputs counts as spent in this one
    selects: bool = False  # whether it hands on some of the elements it is given
    cells: dict[int, Cell] = field(default_factory=dict)
    each: int = 0  # bytes of an element, as those were that were looked at last

    def cell(self) -> Cell:
        """The calling thread's counts."""
        ident = threading.get_ident()
        found = self.cells.get(ident)
        if found is None:
            found = self.cells[ident] = [0] * COUNTS
        return found

    def bytes_of(self, chunk: Chunk, calls: int) -> int:
        """Bytes of a chunk; of elements not taken apart, as many times one looked at now and then as there are."""
        count = len(chunk)
        if isinstance(chunk, Columns):
            nbytes = _size(chunk)
            self.each = nbytes // max(count, 1)
            return nbytes
        if count and _stands_for(calls):
            self.each = size_of(chunk.element(0))
        return self.each * count

    def total(self) -> Cell:
        """The counts of all threads."""
        return [sum(counts) for counts in zip(*list(self.cells.values()), strict=True)] or [0] * COUNTS


class Counters:
    """An engine's observer that counts calls, rows, wall and CPU time, and bytes of every operation.

    Four readings of a clock a call, and a call makes many rows, so it costs well under one per cent.
    """

    looks_at_elements = False

    def __init__(self) -> None:
        self._operations: list[Operation] = []
        self._wrapped = 0  # of the operations, those that have been wrapped in the round at hand
        self._parts_begun = 0
        self._open: list[Operation] = []  # operations whose reader is not wrapped yet
        self._nodes: dict[int, tuple[Node, Operation]] = {}
        self._parts: list[Counters] = []
        self._inside = threading.local()  # of the flows that a thread is in: the time spent in those below

    @property
    def operations(self) -> list[Operation]:
        """All that are counted, from the sources up."""
        return [operation for part in self._parts for operation in part.operations] + self._operations

    def wrap(self, node: Node, program: Program) -> Program:
        """The program, measured; nodes come inputs first."""
        operation = self._operation(node)
        operation.contains_inputs = True
        return _counted(operation, program, rows_at=0)

    def wrap_step(self, node: Node, step: Step) -> Step:
        """The step, measured: how long it takes before and after its input, and what it hands on."""
        operation = self._operation(node)
        cells, ident = operation.cells, threading.get_ident
        rows_of, change, memory = step

        def measured(rows: Rows) -> Rows:
            cell = cells.get(ident()) or operation.cell()
            wall = perf_counter_ns()
            rows = rows_of(rows) if rows_of is not None else rows
            wall = perf_counter_ns() - wall
            cell[WALL] += wall
            cell[CPU] += wall  # arithmetic waits for nothing
            return rows

        counted = _counted(operation, change, rows_at=1)
        return Step(None if rows_of is None else measured, counted, memory)

    def wrap_spread(self, node: Node, spread: Spread) -> Spread:
        """What makes elements of a stream, measured; its input was wrapped just before, if it is wrapped."""
        operation = self._operation(node)
        operation.selects = node.selects
        operation.contains_inputs = node.calls_input

        def measured(piece: Piece) -> Piece:
            cell = operation.cell()
            stands_for = _stands_for(cell[CALLS])
            cpu, wall = thread_time_ns() if stands_for else 0, perf_counter_ns()
            try:
                made = spread(piece)
            finally:
                cell[WALL] += perf_counter_ns() - wall
                if stands_for:
                    cell[CPU] += stands_for * (thread_time_ns() - cpu)
            cell[CALLS] += 1
            cell[ROWS] += len(made)
            cell[BYTES] += operation.bytes_of(made.chunk, cell[CALLS])
            cell[GIVEN] += len(piece)
            if made.lost:
                cell[FAILED] += made.lost
                made.lost = 0  # or those that pass it on would count them too
            return made

        return measured

    def wrap_flow(self, node: Node, begin: Open) -> Open:
        """What opens the pieces of a node, each measured without what its inputs took in the same thread."""
        operation = self._next(node, [])
        operation.selects = node.selects
        return partial(self._measured_flow, operation, begin)

    def wrap_stage(self, begin: Open) -> Open:
        """The same of a stretch whose operations are measured where they run: its time is not its reader's."""
        return partial(self._measured_flow, None, begin)

    def _measured_flow(self, operation: Operation | None, begin: Open, epoch: int, mark: Mark = None) -> Asked:
        flow, inside, calls = begin(epoch, mark), self._inside, 0
        wanted: int | None = None
        try:
            while True:
                above = getattr(inside, "spent", None)
                if above is None:  # no flow reads this one; those that it reads do as it does
                    inside.stands_for = _stands_for(calls)
                stands_for, inside.spent, calls = inside.stands_for, (0, 0), calls + 1
                cpu = thread_time_ns() if stands_for else 0
                wall = perf_counter_ns()
                try:
                    piece = pulled(flow, wanted)
                finally:
                    wall = perf_counter_ns() - wall
                    cpu = stands_for * (thread_time_ns() - cpu) if stands_for else 0
                    below = inside.spent
                    inside.spent = None if above is None else (above[0] + wall, above[1] + cpu)
                if operation is not None:
                    cell = operation.cell()
                    cell[WALL] += max(wall - below[0], 0)
                    cell[CPU] += max(cpu - below[1], 0)
                    if piece is not None:
                        cell[CALLS] += 1
                        cell[ROWS] += len(piece)
                        cell[BYTES] += operation.bytes_of(piece.chunk, cell[CALLS])
                        cell[GIVEN] += piece.given
                        cell[FAILED] += piece.lost
                if piece is None:
                    return
                wanted = yield piece
        finally:
            close(flow)

    def count(self, node: Node, rows: int, nbytes: int, wall: int, cpu: int) -> None:
        """Count rows of a node that were made by no function that is wrapped."""
        cell = self._nodes[id(node)][1].cell()
        for at, more in ((CALLS, 1), (ROWS, rows), (WALL, wall), (CPU, cpu), (BYTES, nbytes)):
            cell[at] += more

    def part(self) -> Counters:
        """Counters of a stretch of the plan, which are among these."""
        if self._parts_begun == len(self._parts):
            self._parts.append(Counters())
        part = self._parts[self._parts_begun]
        self._parts_begun += 1
        part.begin_again()
        return part

    def begin_again(self) -> None:
        """Take what is wrapped next for the first operation."""
        self._wrapped, self._open, self._nodes = 0, [], {}

    def alike(self, count: int) -> Iterator[int]:
        """Yield `count` times; what is wrapped each time counts as the same operations."""
        wrapped, parts = self._wrapped, self._parts_begun
        for number in range(count):
            self._wrapped, self._parts_begun = wrapped, parts
            yield number

    def _operation(self, node: Node) -> Operation:
        """Return the counts of a node, whose inputs were wrapped just before; a node that is read twice has two."""
        taken = max(len(self._open) - len(node.inputs), 0)
        operation = self._next(node, self._open[taken:])
        self._open[taken:] = [operation]
        self._nodes[id(node)] = node, operation
        return operation

    def _next(self, node: Node, inputs: list[Operation]) -> Operation:
        """The counts of the operation that is wrapped next."""
        if self._wrapped == len(self._operations):
            self._operations.append(Operation(node.label(), inputs))
        self._wrapped += 1
        return self._operations[self._wrapped - 1]

    def drain(self) -> list[Cell]:
        """The counts since the last time, for another process."""
        counted = [operation.total() for operation in self.operations]
        for operation in self.operations:
            operation.cells.clear()
        return counted

    def absorb(self, counted: list[Cell]) -> None:
        """Add the counts of an observer in another process, which wrapped the same plan."""
        for operation, counts in zip(self.operations, counted, strict=True):
            cell = operation.cell()
            for at, count in enumerate(counts):
                cell[at] += count

    def __reduce__(self) -> Any:
        return (Counters, ())  # what travels begins from nothing


def _counted(operation: Operation, make: Callable[..., Chunk] | None, *, rows_at: int) -> Callable[..., Chunk]:
    """Return `make`, which makes a chunk, measured and counted; the rows are its argument number `rows_at`.

    Where nothing makes it, the chunk is the first argument.
    """
    cells, ident = operation.cells, threading.get_ident

    def counted(*given: Any) -> Chunk:
        # all in one function: after a long task each further one that is called takes a microsecond
        cell = cells.get(ident()) or operation.cell()
        calls, count = cell[CALLS], len(given[rows_at])
        stands_for = 1 if calls < SAMPLE else 0 if calls % SAMPLE else SAMPLE
        if make is None:
            chunk = given[0]
        else:
            cpu, wall = thread_time_ns() if stands_for else 0, perf_counter_ns()
            try:
                chunk = make(*given)
            finally:  # also of a call that raises, for its inputs have counted what they took
                cell[WALL] += perf_counter_ns() - wall
                if stands_for:
                    cell[CPU] += stands_for * (thread_time_ns() - cpu)
        cell[CALLS] = calls + 1
        cell[ROWS] += count
        cell[BYTES] += operation.bytes_of(chunk, calls) if stands_for or count > FEW else operation.each * count
        if type(chunk) is Mended:
            cell[FAILED] += chunk.lost
            chunk.lost = 0  # or those that pass it on would count them too
        return chunk

    return counted


def _stands_for(calls: int) -> int:
    """For how many calls the CPU time of the next one stands, after so many: 0 where it is not asked for."""
    return 1 if calls < SAMPLE else SAMPLE if calls % SAMPLE == 0 else 0


def _size(chunk: Columns) -> int:
    """Bytes of a chunk's leaves, as `size_of` counts them; where they differ, as many times the first as there are."""
    return sum(map(_size_of_column, chunk.columns))


def _size_of_column(column: Column) -> int:
    if isinstance(column, Ragged | Sparse):
        column = column.flat_values if isinstance(column, Ragged) else column.values
    if isinstance(column, np.ndarray) and column.dtype.kind not in "OSU":
        return column.nbytes
    return size_of(column[0]) * len(column) if len(column) else 0

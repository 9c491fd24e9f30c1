"""Counts of the work of every operation, measured from outside."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from time import perf_counter_ns, thread_time_ns
from typing import Any

import numpy as np

from penstock.core.arrays import Rows
from penstock.elements.chunks.chunk import Chunk, Column, Columns
from penstock.elements.ragged import Ragged
from penstock.elements.size import size_of_element
from penstock.elements.sparse import Sparse
from penstock.plan.flow import AskedFlow, Mark, Open, Piece, Spread, close, pulled
from penstock.plan.node import Node
from penstock.plan.outcomes import outcomes_here
from penstock.plan.step import Step
from penstock.plan.types import Program

Cell = list[int]
"""Counts of one operation and thread: calls, rows, wall ns, CPU ns, bytes, input elements, and failed elements."""
COUNTS = 7
CALLS, ROWS, WALL, CPU, BYTES, GIVEN, FAILED = range(COUNTS)


FEW = 16  # rows of a call whose bytes are estimated from other calls
SAMPLE = 16  # reading a thread's CPU time is expensive: of many calls, one in 16 is measured for all


@dataclass(eq=False)
class OperationCounters:
    """The counts of one node's program, a cell for each thread, so that no thread waits for another."""

    label: str
    inputs: list[OperationCounters]
    contains_inputs: bool = False  # whether the time includes that of the inputs
    selects: bool = False  # whether the operation passes on only some of its input
    cells: dict[int, Cell] = field(default_factory=dict)
    each: int = 0  # bytes of the element sampled last

    def cell(self) -> Cell:
        """Return the calling thread's counts."""
        ident = threading.get_ident()
        found = self.cells.get(ident)
        if found is None:
            found = self.cells[ident] = [0] * COUNTS
        return found

    def bytes_of(self, chunk: Chunk, calls: int) -> int:
        """Return the bytes of a chunk; for elements not taken apart, multiply those of an occasional sample."""
        count = len(chunk)
        if isinstance(chunk, Columns):
            nbytes = _size(chunk)
            self.each = nbytes // max(count, 1)
            return nbytes
        if count and _stands_for(calls):
            self.each = size_of_element(chunk.element(0))
        return self.each * count

    def total(self) -> Cell:
        """Return the counts of all threads."""
        return [sum(counts) for counts in zip(*list(self.cells.values()), strict=True)] or [0] * COUNTS


class Counters:
    """An observer of the engine that counts calls, rows, wall and CPU time, and bytes of every operation.

    A call takes four clock readings and makes many rows, so the overhead is well under one per cent.
    """

    looks_at_elements = False

    def __init__(self) -> None:
        self._operations: list[OperationCounters] = []
        self._wrapped = 0  # number of operations wrapped in this round
        self._parts_begun = 0
        self._open: list[OperationCounters] = []  # operations whose reader is not wrapped yet
        self._nodes: dict[int, tuple[Node, OperationCounters]] = {}
        self._parts: list[Counters] = []
        self._inside = threading.local()  # per thread: the time spent in the flows below

    @property
    def operations(self) -> list[OperationCounters]:
        """Return all counted operations, from the sources up."""
        return [operation for part in self._parts for operation in part.operations] + self._operations

    def wrap(self, node: Node, program: Program) -> Program:
        """Return the program, measured; nodes come inputs first."""
        operation = self._operation(node)
        operation.contains_inputs = True
        return _counted(operation, program, rows_at=0)

    def wrap_step(self, node: Node, step: Step) -> Step:
        """Return the step, measured: its time before and after its input, and its output."""
        operation = self._operation(node)
        cells, ident = operation.cells, threading.get_ident
        rows_of, change, memory = step

        def measured(rows: Rows) -> Rows:
            cell = cells.get(ident()) or operation.cell()
            wall = perf_counter_ns()
            rows = rows_of(rows) if rows_of is not None else rows
            wall = perf_counter_ns() - wall
            cell[WALL] += wall
            cell[CPU] += wall  # arithmetic never waits
            return rows

        counted = _counted(operation, change, rows_at=1)
        return Step(None if rows_of is None else measured, counted, memory)

    def wrap_spread(self, node: Node, spread: Spread) -> Spread:
        """Return a measured function that makes elements of a stream; its input, if wrapped, came just before."""
        operation = self._operation(node)
        operation.selects = node.traits.selects
        operation.contains_inputs = node.traits.calls_input

        def measured(piece: Piece) -> Piece:
            cell = operation.cell()
            stands_for, failed = _stands_for(cell[CALLS]), outcomes_here.failed
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
            _count_failed(cell, failed)
            return made

        return measured

    def wrap_flow(self, node: Node, begin: Open) -> Open:
        """Return a function that opens the pieces of a node, measured without its inputs' time in the same thread."""
        operation = self._next(node, [])
        operation.selects = node.traits.selects
        return partial(self._measured_flow, operation, begin)

    def wrap_stage(self, begin: Open) -> Open:
        """Return the same for a stretch whose operations are measured where they run, not as its reader's time."""
        return partial(self._measured_flow, None, begin)

    def _measured_flow(
        self, operation: OperationCounters | None, begin: Open, epoch: int, mark: Mark = None
    ) -> AskedFlow:
        flow, inside, calls = begin(epoch, mark), self._inside, 0
        wanted: int | None = None
        try:
            while True:
                above = getattr(inside, "spent", None)
                if above is None:  # no flow reads this one; its inputs follow it
                    inside.stands_for = _stands_for(calls)
                stands_for, inside.spent, calls = inside.stands_for, (0, 0), calls + 1
                failed, examined = outcomes_here.failed, outcomes_here.examined
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
                    _count_failed(cell, failed)
                    if outcomes_here.examined != examined:
                        cell[GIVEN] += outcomes_here.examined - examined
                        outcomes_here.examined = examined
                    if piece is not None:
                        cell[CALLS] += 1
                        cell[ROWS] += len(piece)
                        cell[BYTES] += operation.bytes_of(piece.chunk, cell[CALLS])
                if piece is None:
                    return
                wanted = yield piece
        finally:
            close(flow)

    def count(self, node: Node, rows: int, nbytes: int, wall: int, cpu: int) -> None:
        """Count rows of a node that were made by no wrapped function."""
        cell = self._nodes[id(node)][1].cell()
        for at, more in ((CALLS, 1), (ROWS, rows), (WALL, wall), (CPU, cpu), (BYTES, nbytes)):
            cell[at] += more

    def part(self) -> Counters:
        """Return counters of a stretch of the plan, which are part of these."""
        if self._parts_begun == len(self._parts):
            self._parts.append(Counters())
        part = self._parts[self._parts_begun]
        self._parts_begun += 1
        part.begin_again()
        return part

    def begin_again(self) -> None:
        """Treat the next wrapped operation as the first."""
        self._wrapped, self._open, self._nodes = 0, [], {}

    def alike(self, count: int) -> Iterator[int]:
        """Yield `count` times; the operations wrapped each time count as the same ones."""
        wrapped, parts = self._wrapped, self._parts_begun
        for number in range(count):
            self._wrapped, self._parts_begun = wrapped, parts
            yield number

    def _operation(self, node: Node) -> OperationCounters:
        """Return the counts of a node whose inputs were wrapped just before; a node that is read twice has two."""
        taken = max(len(self._open) - len(node.inputs), 0)
        operation = self._next(node, self._open[taken:])
        self._open[taken:] = [operation]
        self._nodes[id(node)] = node, operation
        return operation

    def _next(self, node: Node, inputs: list[OperationCounters]) -> OperationCounters:
        """Return the counts of the next operation to be wrapped."""
        if self._wrapped == len(self._operations):
            self._operations.append(OperationCounters(node.label(), inputs))
        self._wrapped += 1
        return self._operations[self._wrapped - 1]

    def drain(self) -> list[Cell]:
        """Return the counts since the last call, for another process."""
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
        return (Counters, ())  # in another process, counts begin at zero


def _counted(operation: OperationCounters, make: Callable[..., Chunk] | None, *, rows_at: int) -> Callable[..., Chunk]:
    """Return `make`, which makes a chunk, measured and counted; the rows are its argument number `rows_at`.

    If `make` only passes a chunk on, the chunk is its first argument.
    """
    cells, ident = operation.cells, threading.get_ident

    def counted(*given: Any) -> Chunk:
        # one function: after a long task, each further call takes a microsecond
        cell = cells.get(ident()) or operation.cell()
        calls, count = cell[CALLS], len(given[rows_at])
        stands_for = 1 if calls < SAMPLE else 0 if calls % SAMPLE else SAMPLE
        failed = outcomes_here.failed
        if make is None:
            chunk = given[0]
        else:
            cpu, wall = thread_time_ns() if stands_for else 0, perf_counter_ns()
            try:
                chunk = make(*given)
            finally:  # also if the call raises, since its inputs have counted their time
                cell[WALL] += perf_counter_ns() - wall
                if stands_for:
                    cell[CPU] += stands_for * (thread_time_ns() - cpu)
        cell[CALLS] = calls + 1
        cell[ROWS] += count
        cell[BYTES] += operation.bytes_of(chunk, calls) if stands_for or count > FEW else operation.each * count
        _count_failed(cell, failed)
        return chunk

    return counted


def _count_failed(cell: Cell, before: int) -> None:
    """Count the elements that failed in an operation, and take them back: operations above count their own."""
    if outcomes_here.failed != before:
        cell[FAILED] += outcomes_here.failed - before
        outcomes_here.failed = before


def _stands_for(calls: int) -> int:
    """Return the number of calls that the CPU time of the next call represents; 0 if it is not measured."""
    return 1 if calls < SAMPLE else SAMPLE if calls % SAMPLE == 0 else 0


def _size(chunk: Columns) -> int:
    """Return the bytes of a chunk's leaves, as `size_of` counts; if elements differ, a multiple of the first one's."""
    return sum(map(_size_of_column, chunk.columns))


def _size_of_column(column: Column) -> int:
    if isinstance(column, Ragged | Sparse):
        column = column.flat_values if isinstance(column, Ragged) else column.values
    if isinstance(column, np.ndarray) and column.dtype.kind not in "OSU":
        return column.nbytes
    return size_of_element(column[0]) * len(column) if len(column) else 0

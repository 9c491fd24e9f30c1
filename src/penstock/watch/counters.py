"""Counts of the work of every operation, measured from outside."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from functools import partial
from time import perf_counter_ns, thread_time_ns
from typing import TYPE_CHECKING, Any, NamedTuple

from penstock import watch
from penstock.core.arrays import Rows
from penstock.elements.chunks.chunk import Chunk
from penstock.engine.tasks.observer import CountBatches, Occurrence, Unobserved
from penstock.plan.flow import AskedFlow, Mark, Open, Piece, Spread, close, pulled
from penstock.plan.node import Node
from penstock.plan.outcomes import outcomes_here
from penstock.plan.step import Step
from penstock.sources.powers import computes
from penstock.watch.containers import Containers
from penstock.watch.counts import (
    BYTES,
    CALLS,
    CPU,
    FAILED,
    FIRST_CALLS,
    GIVEN,
    ROWS,
    ROWS_SKIPPED,
    SKIPPED,
    UNKNOWN_COST,
    WALL,
    Cell,
    Note,
    OperationCounters,
    calls_for,
)
from penstock.watch.fetches import FetchCounter, Fetched
from penstock.watch.outlines import NodeOutline, Outline
from penstock.watch.sampled import SAMPLE, SampledChain, Tally

if TYPE_CHECKING:
    from penstock.core.events import RunEvent
    from penstock.engine.runs.run import Run
    from penstock.engine.tasks.observer import TaskRecorder, Wrapped
    from penstock.plan.types import Program

SHORTEST_SPAN = 20_000  # ns; shorter calls of an operation would be most of a trace, and too narrow to see
LOOK_PAUSE = 20_000_000  # ns between two looks at what functions hold in another process


class Counted(NamedTuple):
    """The counts of an observer in another process, and the bytes that functions hold there, if it has looked.

    `fetched` has the requests to remote stores by process, if there were any.
    """

    cells: dict[int, Cell]
    process: int
    kept: dict[str, int] | None
    fetched: dict[int, Fetched] | None


class Counters:
    """An observer of the engine that counts calls, rows, wall and CPU time, and bytes of every operation.

    A call takes four clock readings and makes many rows, so the overhead is well under one per cent.
    """

    def __init__(self, *, elsewhere: bool = False) -> None:
        """Count from zero; one that is `elsewhere`, in another process, looks also at what functions hold there."""
        self.kept_elsewhere: dict[int, dict[str, int]] = {}
        """The bytes that functions hold in other processes, by process id and a phrase that names the object."""
        self.fetches = FetchCounter()
        """The counter of requests to remote stores."""
        self._elsewhere = elsewhere
        self._containers: Containers | None = None
        self._next = 0  # time of the next look at them
        self._operations: dict[int, OperationCounters] = {}  # by number
        self._drained: dict[int, Cell] = {}
        self._inside = threading.local()  # per thread: the time spent in the flows below

    @property
    def operations(self) -> list[OperationCounters]:
        """Return all counted operations, from the sources up."""
        return [self._operations[number] for number in sorted(self._operations)]

    def wrap(self, of: Occurrence | None, function: Any) -> Any:
        """Return the function, measured; one that opens a flow is measured without the flows that it reads here."""
        if of is None:
            return partial(self._measured_flow, None, function)
        operation = self._operations.get(of.number)
        if operation is None:
            inputs = [self._operations[number] for number in of.inputs]
            contains_inputs = of.kind == "program" or of.node.traits.calls_input
            operation = OperationCounters(of.node, inputs, contains_inputs, of.kind == "flow")
            operation.is_sampled = _may_be_sampled(of)
            operation.note = self._note_of(operation)
            self._operations[of.number] = operation
        if of.kind == "flow":
            return partial(self._measured_flow, operation, function)
        if of.kind == "program":
            return _measured_program(operation, function, rows_at=0)
        return (_measured_step if of.kind == "step" else _measured_spread)(operation, function)

    def join(self, source: Wrapped[Program], steps: Sequence[Wrapped[Step]]) -> Program:
        """Return the program of steps over that of `source`, which measures those that are quick now and then."""
        operations = [self._operations[each.number] for each in (*steps, source)]
        if not any(operation.is_sampled for operation in operations):
            return Unobserved().join(source, steps)
        return self._chain(source, steps, operations).run

    def _chain(
        self, source: Wrapped[Program], steps: Sequence[Wrapped[Step]], operations: Sequence[OperationCounters]
    ) -> SampledChain:
        return SampledChain(source, steps, operations)

    def _note_of(self, operation: OperationCounters) -> Note | None:
        """Return `None`: counts tell nothing of single calls."""
        return None

    def _measured_flow(
        self, operation: OperationCounters | None, begin: Open, epoch: int, mark: Mark = None
    ) -> AskedFlow:
        flow, inside, calls = begin(epoch, mark), self._inside, 0
        wanted: int | None = None
        try:
            while True:
                above = getattr(inside, "spent", None)
                if above is None:  # no flow reads this one; its inputs follow it
                    inside.stands_for = calls_for(calls)
                stands_for, inside.spent, calls = inside.stands_for, (0, 0), calls + 1
                failed, examined = outcomes_here.failed, outcomes_here.examined
                cpu = thread_time_ns() if stands_for else 0
                began = wall = perf_counter_ns()
                try:
                    piece = pulled(flow, wanted)
                finally:
                    wall = perf_counter_ns() - began
                    cpu = stands_for * (thread_time_ns() - cpu) if stands_for else 0
                    below = inside.spent
                    inside.spent = None if above is None else (above[0] + wall, above[1] + cpu)
                if operation is not None:
                    if operation.note is not None and wall >= SHORTEST_SPAN and piece is not None:
                        operation.note(began, wall, len(piece.ids))
                    cell = operation.cell()
                    cell[WALL] += max(wall - below[0], 0)
                    cell[CPU] += max(cpu - below[1], 0)
                    if outcomes_here.failed != failed:
                        _count_failed(cell, failed)
                    if outcomes_here.examined != examined:
                        cell[GIVEN] += outcomes_here.examined - examined
                        outcomes_here.examined = examined
                    if piece is not None:
                        cell[CALLS] += 1
                        cell[ROWS] += len(piece.ids)
                        cell[BYTES] += operation.bytes_of(piece.chunk, cell[CALLS])
                if piece is None:
                    return
                wanted = yield piece
        finally:
            close(flow)

    @property
    def recorder(self) -> TaskRecorder | None:
        """Return `None`: what counts is inside of tasks."""
        return None

    def counter(self, operations: Sequence[tuple[int, bool]]) -> CountBatches:
        """Return the function that counts batches that no wrapped function makes, at once for all `operations`."""
        tally = Tally()
        for at, (number, of_batches) in enumerate(operations):
            # operations after the first only compute rows
            self._operations[number].tallies.append((tally, of_batches, at == 0))
        return tally.add

    def drain(self) -> Counted:
        """Return the counts since the last call, for another process."""
        counted: dict[int, Cell] = {}
        for number, operation in list(self._operations.items()):
            total = operation.total()  # of cells that other threads add to meanwhile
            before = self._drained.get(number)
            counted[number] = total if before is None else [now - then for now, then in zip(total, before, strict=True)]
            self._drained[number] = total
        return Counted(counted, os.getpid(), self._kept_here(), self.fetches.drain())

    def _kept_here(self) -> dict[str, int] | None:
        """Return what functions hold in this process, if it is another one, now and then."""
        now = perf_counter_ns()
        if not self._elsewhere or now < self._next:
            return None
        self._next = now + LOOK_PAUSE
        if self._containers is None:
            self._containers = Containers(each.node for each in self.operations if isinstance(each.node, Node))
        return self._containers.sizes()

    def outline(self) -> Outline:
        """Return the operations by number: their nodes in outline, and what else `report` has to know of them."""
        numbers = {operation: number for number, operation in self._operations.items()}
        return {
            number: (
                NodeOutline.of(operation.node),
                [numbers[each] for each in operation.inputs],
                operation.contains_inputs,
                operation.sequential,
            )
            for number, operation in sorted(self._operations.items())
        }

    def adopt(self, outline: Outline) -> None:
        """Prepare for the counts of operations that another process measures."""
        for number, (node, inputs, contains_inputs, sequential) in outline.items():
            if number not in self._operations:
                below = [self._operations[each] for each in inputs]
                self._operations[number] = OperationCounters(node, below, contains_inputs, sequential)

    def watch(self, run: Run, awaited: Callable[[], int], note: Callable[[RunEvent], object]) -> watch.stuck.Watched:
        """Look at a run that this thread makes for a consumer in another process, as long as the result is kept."""
        watched = watch.stuck.Watched(run, self, awaited, note)
        watched.consumer = threading.get_ident()
        watch.stuck.watchdog.watch(watched)
        return watched

    def absorb(self, counted: Counted) -> None:
        """Add the counts of an observer in another process, which wrapped operations of the same plan."""
        if counted.kept:
            self.kept_elsewhere[counted.process] = counted.kept
        self.fetches.absorb(counted.fetched)
        for number, counts in counted.cells.items():
            cell = self._operations[number].cell()
            for at, count in enumerate(counts[:SKIPPED]):
                cell[at] += count

    def __reduce__(self) -> Any:
        return (_elsewhere, ())  # in another process, counts begin at zero


def _elsewhere() -> Counters:
    return Counters(elsewhere=True)


def _measured_step(operation: OperationCounters, step: Step) -> Step:
    """Return the step, measured: its time before and after its input, and its output."""
    cells, ident = operation.cells, threading.get_ident
    rows_of = step.rows_of
    counted = step._replace(change=_measured_program(operation, step.change, rows_at=1))
    if rows_of is None:
        return counted

    def measured(rows: Rows) -> Rows:
        cell = cells.get(ident()) or operation.cell()
        stands_for, count = 1.0, len(rows)
        if cell[SKIPPED]:
            stands_for = (count + cell[ROWS_SKIPPED]) / max(count, 1)
        elif (calls := cell[CALLS]) >= SAMPLE:
            if calls % SAMPLE != SAMPLE - 1:  # the last call of some stands for them
                return rows_of(rows)
            stands_for = SAMPLE
        wall = perf_counter_ns()
        rows = rows_of(rows)
        operation.took_below = wall = perf_counter_ns() - wall
        cell[WALL] += (wall := int(stands_for * wall))
        cell[CPU] += wall  # arithmetic never waits
        return rows

    return counted._replace(rows_of=measured)


def _measured_spread(operation: OperationCounters, spread: Spread) -> Spread:
    """Return the function that makes elements of a stream, measured."""
    cells, ident = operation.cells, threading.get_ident

    note = operation.note

    def measured(piece: Piece) -> Piece:
        cell = cells.get(ident()) or operation.cell()
        stands_for, failed = calls_for(cell[CALLS]), outcomes_here.failed
        cpu, wall = thread_time_ns() if stands_for else 0, perf_counter_ns()
        try:
            made = spread(piece)
        finally:
            took = perf_counter_ns() - wall
            cell[WALL] += took
            if note is not None and took >= SHORTEST_SPAN:
                note(wall, took, len(piece.ids))
            if stands_for:
                cell[CPU] += stands_for * (thread_time_ns() - cpu)
        cell[CALLS] += 1
        cell[ROWS] += len(made.ids)
        cell[BYTES] += operation.bytes_of(made.chunk, cell[CALLS])
        cell[GIVEN] += len(piece.ids)
        if outcomes_here.failed != failed:
            _count_failed(cell, failed)
        return made

    return measured


def _measured_program(
    operation: OperationCounters, make: Callable[..., Chunk] | None, *, rows_at: int
) -> Callable[..., Chunk]:
    """Return `make`, which makes a chunk, measured and counted; the rows are its argument number `rows_at`.

    Without `make`, the chunk is the first argument.
    """
    cells, ident, note = operation.cells, threading.get_ident, operation.note

    def counted(*given: Any) -> Chunk:
        # one function: after a long task, each further call takes a microsecond
        cell, count = cells.get(ident()) or operation.cell(), len(given[rows_at])
        skipped, failed, calls = cell[SKIPPED], outcomes_here.failed, cell[CALLS]
        as_many = (count + cell[ROWS_SKIPPED]) / max(count, 1) if skipped else 1  # times the rows of this call
        stands_for = as_many if skipped or calls < SAMPLE else 0 if calls % SAMPLE else SAMPLE
        if make is None:
            chunk = given[0]
            took = 0
        else:
            cpu, wall = thread_time_ns() if stands_for else 0, perf_counter_ns()
            try:
                chunk = make(*given)
            finally:  # also if the call raises, since its inputs have counted their time
                took = perf_counter_ns() - wall
                cell[WALL] += int(took * as_many)
                if note is not None and took >= SHORTEST_SPAN:
                    note(wall, took, count)
                if stands_for:
                    cell[CPU] += int(stands_for * (thread_time_ns() - cpu))
        if skipped:
            rows = cell[ROWS_SKIPPED]
            cell[SKIPPED] = cell[ROWS_SKIPPED] = 0
            cell[CALLS] += skipped
            cell[ROWS] += rows
            cell[BYTES] += operation.each * rows
        operation.took_rows = count
        operation.took = took if calls >= FIRST_CALLS and took <= count * operation.most_each else UNKNOWN_COST
        cell[CALLS] += 1
        cell[ROWS] += count
        cell[BYTES] += operation.bytes_of(chunk, 0 if skipped else calls) if stands_for else operation.each * count
        if outcomes_here.failed != failed:
            _count_failed(cell, failed)
        return chunk

    return counted


def _may_be_sampled(of: Occurrence) -> bool:
    """Return whether quick calls of an operation may go unmeasured.

    The cost of reading varies; a time that contains that of inputs must match theirs; and failures are counted for the
    operation measured.
    """
    if of.kind == "program":
        return computes(getattr(of.node, "source", None))
    return not of.node.traits.calls_input and not hasattr(of.node, "handling")


def _count_failed(cell: Cell, before: int) -> None:
    """Count the elements that failed in an operation, and take them back: operations above count their own."""
    cell[FAILED] += outcomes_here.failed - before
    outcomes_here.failed = before

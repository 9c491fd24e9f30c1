"""Spans of time in which a thread makes a task or an operation, recorded only while a trace or report is wanted."""

from __future__ import annotations

import math
import os
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from penstock.engine.tasks.observer import CountBatches, Occurrence, TaskRecorder, called_within
from penstock.ops.elementwise.map import Map
from penstock.plan.stopwatch import stopwatch_here
from penstock.watch.counters import Counted, Counters
from penstock.watch.counts import Note, OperationCounters
from penstock.watch.sampled import SampledChain

if TYPE_CHECKING:
    from penstock.core.arrays import Rows
    from penstock.elements.chunks.chunk import Chunk
    from penstock.engine.tasks.observer import Wrapped
    from penstock.engine.tasks.task import Task
    from penstock.plan.step import Step
    from penstock.plan.types import Program

WINDOW = 100_000_000  # ns
MOST_IN_A_WINDOW = 16  # spans recorded; tasks so cheap that there are more are recorded now and then
LONG = 1_000_000  # ns; longer tasks and operations are recorded however many there are
LEAST_TIMED = 50_000  # ns of an element; timing one, and counting it, takes about 0.4 µs
CALLS_LEFT_OUT = 15  # after one whose elements took less than a quarter of that
TRANSFERS = -1  # the number given instead of a thread, since a device makes transfers
MOST_SPANS = 1 << 17  # waiting to be taken; with nobody taking them, the oldest are dropped


class Span(NamedTuple):
    """A time, from `begin` on (ns, as `perf_counter_ns` counts), in which a thread of a process made something.

    `kind` is `"task"`, `"part"` (a task that makes some rows of one batch), `"operation"`, `"gather"` (batches copied
    by a native thread), `"transfer"` (of a batch to a device, its bytes as `rows`) or `"left out"` (tasks that were not
    recorded, their number as `rows`). `rows` counts elements of the operation; those of a task are items, those of a
    part rows of the batch. A task has the number of its first
    `item`. The kind `"records"` has the `times` of the elements of one call, with their ids.
    """

    kind: str
    name: str
    process: int
    thread: int
    begin: int
    took: int
    rows: int
    item: int = -1
    times: tuple[list[int], list[int]] | None = None


_span = cast("Callable[[tuple[Any, ...]], Span]", partial(tuple.__new__, Span))
"""Returns the span of all its values, in a fifth of the time that `Span` takes."""


def _here() -> tuple[int, int]:
    return os.getpid(), threading.get_ident()


class CountedSpans(NamedTuple):
    """The counts of an observer in another process, with the spans recorded there."""

    counted: Counted
    spans: list[Span]


class SpanCounters(Counters):
    """Counters that also record spans: of tasks, and of calls of an operation that are long enough to see.

    If there are too many that take less than a millisecond, only those at the beginning of each window of
    time are recorded, so that recording takes few per cent of the time.
    """

    def __init__(self, *, elsewhere: bool = False, notes_operations: bool = False) -> None:
        super().__init__(elsewhere=elsewhere)
        self.notes_operations = notes_operations
        """True if calls of operations are recorded, each of which takes as long as a task; set before a run."""
        self._spans: deque[Span] = deque(maxlen=MOST_SPANS)  # to which any thread may add
        self._until = 0  # the end of the window
        self.room = MOST_IN_A_WINDOW  # for further spans in the window
        self.long = LONG
        self._left_out = 0  # tasks
        self._chains: list[SampledChain] = []  # of which all operations are measured while there is room

    def taken(self) -> list[Span]:
        """Return the spans recorded since the last call."""
        spans = self._spans
        return [spans.popleft() for _ in range(len(spans))]

    @property
    def recorder(self) -> TaskRecorder | None:
        """The counters, which record the tasks."""
        return self

    def note(self, task: Task, name: str, began: int, took: int) -> None:
        """Record the span of a task."""
        kind = "task" if task.part is None else "part"
        self._spans.append(_span((kind, name, *_here(), began, took, len(task.given), task.low, None)))
        self._take_room(took)

    def look(self, tasks: int) -> None:
        """Begin a window if it is time; of the `tasks` since the last look, none was recorded if there is no room."""
        if not self._has_room():
            self._left_out += tasks

    def _has_room(self) -> bool:
        """Return whether a span is recorded; at the beginning of a window, note how many tasks were not, about."""
        if self.room > 0:
            return True
        now = perf_counter_ns()
        if now < self._until:
            return False
        if left_out := self._left_out:
            self._spans.append(Span("left out", "tasks", os.getpid(), 0, now, 0, left_out))
        self._until, self.room, self._left_out = now + WINDOW, MOST_IN_A_WINDOW, 0
        for chain in self._chains:
            chain.most = 0  # calls before the next one that is measured, and those after it
        return True

    def note_transfer(self, name: str, begin: int, took: int, nbytes: int) -> None:
        """Record the transfer of a batch to a device, if there is room."""
        if self._has_room():
            self.room -= 1
            self._spans.append(Span("transfer", name, os.getpid(), TRANSFERS, begin, took, nbytes))

    def _take_room(self, took: int) -> None:
        """Take room for a time (ns), unless it is long beside recording it."""
        self.room -= took < LONG

    def _note_of(self, operation: OperationCounters) -> Note | None:
        if not self.notes_operations:
            return None
        spans, name = self._spans, operation.node.label()

        def note(begin: int, took: int, rows: int) -> None:
            if self.room > 0 or took > WINDOW:
                self._take_room(took)
                spans.append(_span(("operation", name, *_here(), begin, took, rows, -1, None)))

        return note

    def _chain(
        self, source: Wrapped[Program], steps: Sequence[Wrapped[Step]], operations: Sequence[OperationCounters]
    ) -> SampledChain:
        if not self.notes_operations:
            return super()._chain(source, steps, operations)
        self._chains.append(SampledChain(source, steps, operations, self))
        return self._chains[-1]

    def wrap(self, of: Occurrence | None, function: Any) -> Any:
        measured = super().wrap(of, function)
        if of is None or of.kind in ("program", "flow") or not isinstance(of.node, Map):
            return measured
        spans, name, mean = self._spans, of.node.label(), _MeanCost()
        self._operations[of.number].most_each = LEAST_TIMED >> 2  # elements that take longer are timed in each call

        def around() -> AbstractContextManager[Callable[[Rows, Chunk], object]]:
            if mean.left_out > 0 and of.kind == "spread":  # of steps, few calls are measured anyway
                mean.left_out -= 1
                return UNTIMED
            return RecordTimes(spans, name, mean)

        return called_within(around, of.kind, measured)

    def counter(self, operations: Sequence[tuple[int, bool]]) -> CountBatches:
        count, name = super().counter(operations), self._operations[operations[0][0]].node.label()

        def counted(batches: int, rows: int, nbytes: int, wall: int, cpu: int) -> None:
            count(batches, rows, nbytes, wall, cpu)
            if wall and self._has_room():  # of a native thread, whose work ends about now
                self.room -= 1
                self._spans.append(Span("gather", name, os.getpid(), 0, perf_counter_ns() - wall, wall, rows))

        return counted

    def drain(self) -> Any:
        return CountedSpans(super().drain(), self.taken())

    def absorb(self, counted: Any) -> None:
        """Add the counts and spans of another process; on another host, whose clock differs, spans end now."""
        super().absorb(counted.counted)
        if not counted.spans:
            return
        ends, now = max(span.begin + span.took for span in counted.spans), perf_counter_ns()
        late = now - ends
        shift = 0 if 0 <= late < OTHER_CLOCK else late
        self._spans += [span._replace(begin=span.begin + shift) if shift else span for span in counted.spans]

    def __reduce__(self) -> Any:
        return partial(_spans_elsewhere, notes_operations=self.notes_operations), ()


OTHER_CLOCK = 600_000_000_000  # ns; results that took that long to arrive come from another clock


def _spans_elsewhere(*, notes_operations: bool) -> SpanCounters:
    return SpanCounters(elsewhere=True, notes_operations=notes_operations)


class _MeanCost:
    """The time of an element in the last call of an operation, in ns; before the first, as if it were long.

    If it is far too short, the next calls are left out.
    """

    each = math.inf
    left_out = 0


class _Untimed:
    """A context for a call whose elements are not timed."""

    def __enter__(self) -> Callable[[Rows, Chunk], object]:
        return _ignore

    def __exit__(self, *_: object) -> None:
        pass


def _ignore(rows: Rows, chunk: Chunk) -> None:
    pass


UNTIMED = _Untimed()


class RecordTimes:
    """A context for one call of a function of single elements, which times each of them if they are expensive."""

    __slots__ = ("_begin", "_ids", "_mean", "_name", "_spans", "_times")

    def __init__(self, spans: deque[Span], name: str, mean: _MeanCost) -> None:
        self._spans = spans
        self._name = name
        self._mean = mean
        self._times: list[int] | None = None
        self._ids: Rows | None = None

    def __enter__(self) -> Callable[[Rows, Chunk], object]:
        if self._mean.each >= LEAST_TIMED:
            self._times = stopwatch_here.times = []
        self._begin = perf_counter_ns()
        return self._made

    def _made(self, rows: Rows, chunk: Chunk) -> None:
        self._ids = rows

    def __exit__(self, *_: object) -> None:
        took = perf_counter_ns() - self._begin
        stopwatch_here.times = None
        if self._ids is None or not len(self._ids):
            return
        count = len(self._ids)
        self._mean.each = took / count
        self._mean.left_out = CALLS_LEFT_OUT if took < count * (LEAST_TIMED >> 2) else 0
        if self._times and len(self._times) == count:
            times = self._ids.tolist(), self._times
            self._spans.append(Span("records", self._name, *_here(), self._begin, took, count, times=times))

"""Spans of time in which a thread makes a task or an operation, recorded only while a trace or report is wanted."""

from __future__ import annotations

import math
import os
import threading
from collections import deque
from collections.abc import Callable
from functools import partial
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, NamedTuple

from penstock.engine.tasks.observer import Around, Occurrence, called_within
from penstock.ops.elementwise.map import Map
from penstock.plan.flow import AskedFlow, Mark, Open, close, pulled
from penstock.plan.stopwatch import stopwatch_here
from penstock.watch.counters import Counted, Counters

if TYPE_CHECKING:
    from penstock.core.arrays import Rows
    from penstock.elements.chunks.chunk import Chunk
    from penstock.engine.tasks.task import Task
    from penstock.plan.node import Node

SHORTEST_SPAN = 20_000  # ns; shorter calls of an operation would be most of the file, and too narrow to see
LEAST_TIMED = 50_000  # ns of an element; timing one, and counting it, takes about 0.4 µs
MOST_SPANS = 1 << 17  # waiting to be taken; with nobody taking them, the oldest are dropped


class Span(NamedTuple):
    """A time, from `begin` on (ns, as `perf_counter_ns` counts), in which a thread of a process made something.

    `kind` is `"task"`, `"part"` (a task that makes some rows of one batch), `"operation"` or `"gather"` (batches copied
    by a native thread). `rows` counts elements of the operation; those of a task are items, those of a part rows of the
    batch. A task has the number of its first `item`. The kind `"records"` has the `times` of the elements of one call,
    with their ids.
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


class CountedSpans(NamedTuple):
    """The counts of an observer in another process, with the spans recorded there."""

    counted: Counted
    spans: list[Span]


class SpanCounters(Counters):
    """Counters that also record a span for each task, and for each call of an operation that is long enough to see."""

    def __init__(self, *, elsewhere: bool = False) -> None:
        super().__init__(elsewhere=elsewhere)
        self._spans: deque[Span] = deque(maxlen=MOST_SPANS)  # to which any thread may add

    def taken(self) -> list[Span]:
        """Return the spans recorded since the last call."""
        spans = self._spans
        return [spans.popleft() for _ in range(len(spans))]

    def around_tasks(self, plan: Node) -> Callable[[Task], OpenSpan] | None:
        name, spans = plan.label(), self._spans

        def around(task: Task) -> OpenSpan:
            return OpenSpan(spans, "task" if task.part is None else "part", name, len(task.given), task.low)

        return around

    def wrap(self, of: Occurrence | None, function: Any) -> Any:
        measured = super().wrap(of, function)
        if of is None:
            return measured
        around: Around = partial(OpenSpan, self._spans, "operation", of.node.label())
        if of.kind == "flow":
            return partial(_flow_within, around, measured)
        if of.kind != "program" and isinstance(of.node, Map):
            around = partial(RecordSpan, self._spans, of.node.label(), _MeanCost())
        return called_within(around, of.kind, measured)

    def count(self, number: int, rows: int, nbytes: int, wall: int, cpu: int) -> None:
        super().count(number, rows, nbytes, wall, cpu)
        if wall:  # of a native thread, whose work ends about now
            name = self._operations[number].node.label()
            self._spans.append(Span("gather", name, os.getpid(), 0, perf_counter_ns() - wall, wall, rows))

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
        return (_spans_elsewhere, ())


OTHER_CLOCK = 600_000_000_000  # ns; results that took that long to arrive come from another clock


def _spans_elsewhere() -> SpanCounters:
    return SpanCounters(elsewhere=True)


class OpenSpan:
    """A context whose time becomes a span; its value counts the rows of an operation."""

    __slots__ = ("_begin", "_item", "_kind", "_name", "_rows", "_spans")

    def __init__(self, spans: deque[Span], kind: str, name: str, rows: int = 0, item: int = -1) -> None:
        self._spans = spans
        self._kind = kind
        self._name = name
        self._rows = rows
        self._item = item

    def __enter__(self) -> Callable[[Rows, Chunk], object]:
        self._begin = perf_counter_ns()
        return self._made

    def _made(self, rows: Rows, chunk: Chunk) -> None:
        self._rows = len(rows)

    def __exit__(self, *_: object) -> None:
        begin = self._begin
        took = perf_counter_ns() - begin
        if took >= SHORTEST_SPAN or self._item >= 0:
            span = Span(self._kind, self._name, os.getpid(), threading.get_ident(), begin, took, self._rows, self._item)
            self._spans.append(span)


class _MeanCost:
    """The time of an element in the last call of an operation, in ns; before the first, as if it were long."""

    each = math.inf


class RecordSpan(OpenSpan):
    """A context for one call of a function of single elements, which also times each of them if they are expensive."""

    __slots__ = ("_ids", "_mean", "_times")

    def __init__(self, spans: deque[Span], name: str, mean: _MeanCost) -> None:
        super().__init__(spans, "operation", name)
        self._mean = mean
        self._times: list[int] | None = None
        self._ids: Rows | None = None

    def __enter__(self) -> Callable[[Rows, Chunk], object]:
        if self._mean.each >= LEAST_TIMED:
            self._times = stopwatch_here.times = []
        return super().__enter__()

    def _made(self, rows: Rows, chunk: Chunk) -> None:
        super()._made(rows, chunk)
        self._ids = rows

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        stopwatch_here.times = None
        if self._ids is None or not self._rows:
            return
        took = perf_counter_ns() - self._begin
        self._mean.each = took / self._rows
        if self._times and len(self._times) == self._rows:
            times = self._ids.tolist(), self._times
            here = os.getpid(), threading.get_ident()
            self._spans.append(Span("records", self._name, *here, self._begin, took, self._rows, times=times))


def _flow_within(around: Around, begin: Open, epoch: int, mark: Mark = None) -> AskedFlow:
    """Yield the pieces of a flow, each of which is made within a context, and pass on how many are wanted."""
    flow = begin(epoch, mark)
    wanted: int | None = None
    try:
        while True:
            with around() as note:
                piece = pulled(flow, wanted)
                if piece is not None:
                    note(piece.ids, piece.chunk)
            if piece is None:
                return
            wanted = yield piece
    finally:
        close(flow)

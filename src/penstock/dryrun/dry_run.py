"""Make one element of every operation of a plan, inline, to find its spec, its cost, or the error that it raises."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter_ns
from typing import Any

import numpy as np

from penstock.core.arrays import Rows
from penstock.elements.chunks.chunk import Chunk
from penstock.elements.spec import Spec, spec_of
from penstock.engine.runs.carry_over import CarryOver
from penstock.engine.runs.feeds import NOTHING
from penstock.engine.runs.lowering import beginning
from penstock.engine.runs.session import Session
from penstock.engine.runs.settings import settings_of
from penstock.engine.tasks.call_stack import DEEPEST, flow_on_another_stack
from penstock.engine.tasks.compile import Line, SpreadLine, lined, of_rows, spread_after
from penstock.engine.tasks.observer import Unobserved
from penstock.ops.buffer.cache import Cache
from penstock.ops.combine.inner import Unfolding
from penstock.ops.read.given import Given
from penstock.plan.flow import Flow, Mark, Open, Piece, Spread, close
from penstock.plan.graph import fold, rebuild, with_depth
from penstock.plan.node import Guard, Node, RowMap
from penstock.plan.step import Out, Step
from penstock.plan.types import INFINITE, Program

MOST_SOURCE_ELEMENTS = 10_000  # read of a source, which then counts as exhausted: a filter may drop all of them
LONGEST_DRY_RUN = 10.0  # seconds, after which the sources of streams count as exhausted


@dataclass(eq=False)
class DryRunStage:
    """The result of one node: `made` elements in `wall` ns, without the time of other nodes; or its error."""

    node: Node
    depth: int = 0
    calls: int = 0
    made: int = 0
    wall: int = 0
    first: Any = None
    element: Spec | None = None
    error: Exception | None = None

    @property
    def seconds(self) -> float | None:
        """The time of one element; `None` if none was made."""
        return self.wall / self.made / 1e9 if self.made else None

    def note(self, chunk: Chunk) -> None:
        """Count the elements of a chunk, and keep the first one and its spec."""
        if self.element is None and len(chunk):
            self.first = chunk.element(0)
            self.element = spec_of(self.first)
        self.made += len(chunk)


@dataclass(frozen=True)
class _Compiled:
    """A node compiled with its inputs: the program of `line` if the node is indexed, else a stream of pieces.

    Each piece of `base`, in which `depth` flows are nested, goes through `spreads`, a run of elementwise operations.
    """

    line: Line | None
    base: Open
    spreads: SpreadLine | None = None
    depth: int = 0

    def open(self, epoch: int, mark: Mark = None) -> Flow:
        """Yield the pieces of an epoch."""
        if self.line is not None:
            spread = of_rows(self.line.program)
        else:
            spread = self.spreads.spread if self.spreads is not None else lambda piece: piece
        flow = self.base(epoch, mark)
        try:
            for piece in flow:
                yield spread(piece)
        finally:
            close(flow)


class DryRun:
    """A run of the first `rows` elements of a plan whose seeds are bound, or as many as come before one fails.

    The sources of streams end early: after `MOST_SOURCE_ELEMENTS` elements or `LONGEST_DRY_RUN` seconds. Nothing is
    written to caches.
    """

    def __init__(self, plan: Node, rows: int) -> None:
        self._began = perf_counter_ns()
        self._inside = 0  # ns spent in the operations that the current one has called
        self._failures: dict[int, tuple[Exception, DryRunStage]] = {}  # by the exception's id: it and where it arose
        self._shop = Session(replace(settings_of(plan), executor="inline"), CarryOver(), Unobserved())
        self.stages: list[DryRunStage] = []
        run = rebuild(plan, _without_cache)
        self._guards = _guards_over(run)
        compiled = fold(run, self._compile)
        for stage, (_, depth) in zip(self.stages, with_depth(run), strict=True):
            stage.depth = depth
        try:
            _take(compiled, self.stages[-1], plan, rows)
        except Exception as error:
            if id(error) not in self._failures:
                raise
            self._failures[id(error)][1].error = error
        finally:
            self._shop.close()

    def _compile(self, node: Node, inputs: tuple[_Compiled, ...]) -> _Compiled:
        own = DryRunStage(node)
        self.stages.append(own)
        measuring = _Measuring(own, self._measured)
        if node.indexed:
            lines = tuple(below.line for below in inputs if below.line is not None)
            return _Compiled(lined(node, lines, np.empty, measuring), partial(self._one_by_one, own))
        inputs = tuple(
            _in_pieces(below, each, self._guards[id(each)]) for below, each in zip(inputs, node.inputs, strict=True)
        )
        if node.elementwise and inputs:
            (below,) = inputs
            guard = self._guards[id(node)] if node.guard is None else None
            return replace(below, spreads=spread_after(node, below.spreads, np.empty, measuring, guard))
        if isinstance(node, Unfolding):
            unpack = node.in_tasks(Given())
            inputs = tuple(
                replace(below, spreads=spread_after(unpack, below.spreads, np.empty, Unobserved())) for below in inputs
            )
        flow = beginning(node, tuple(below.open for below in inputs), self._shop)
        begin = partial(self._measured_flow, own, flow)
        depth = 2 + max((below.depth for below in inputs), default=0)
        return _Compiled(None, begin, depth=depth) if depth < DEEPEST else _Compiled(None, flow_on_another_stack(begin))

    def _measured_flow(self, stage: DryRunStage, begin: Open, epoch: int, mark: Mark = None) -> Flow:
        with self._measured(stage):
            flow = begin(epoch, mark)
        try:
            while stage.node.inputs or not self._is_over(stage):
                with self._measured(stage):
                    piece = next(flow, None)
                    if piece is None:
                        return
                    stage.note(piece.chunk)
                yield piece
        finally:
            close(flow)

    def _one_by_one(self, stage: DryRunStage, epoch: int, mark: Mark = None) -> Flow:
        """Yield the rows of an indexed node one by one, without elements; the mark is the next row."""
        stride = stage.node.stride
        for row in range(mark or 0, stride):
            if self._is_over(stage):
                return
            yield Piece(NOTHING, np.array([epoch * stride + row], np.int64), row + 1)

    def _is_over(self, stage: DryRunStage) -> bool:
        read = max(stage.calls, stage.made)  # all may fail and be skipped
        return read >= MOST_SOURCE_ELEMENTS or (read > 0 and perf_counter_ns() - self._began > LONGEST_DRY_RUN * 1e9)

    @contextmanager
    def _measured(self, stage: DryRunStage) -> Generator[None]:
        above, self._inside = self._inside, 0
        began = perf_counter_ns()
        try:
            yield
        except Exception as error:
            self._failures.setdefault(id(error), (error, stage))
            raise
        finally:
            spent = perf_counter_ns() - began
            stage.wall += spent - self._inside
            stage.calls += 1
            self._inside = above + spent


class _Measuring(Unobserved):
    """A context that measures the making of one stage's elements."""

    def __init__(self, stage: DryRunStage, measure: Callable[[DryRunStage], AbstractContextManager[None]]) -> None:
        self._stage = stage
        self._measured = measure

    def wrap(self, node: Node, program: Program, /) -> Program:
        def run(rows: Rows, out: Out = None) -> Chunk:
            with self._measured(self._stage):
                chunk = program(rows, out)
                self._stage.note(chunk)
                return chunk

        return run

    def wrap_step(self, node: Node, step: Step, /) -> Step:
        rows_of, change, passes = step

        def measured(chunk: Chunk, rows: Rows, below: Rows, out: Out) -> Chunk:
            with self._measured(self._stage):
                chunk = chunk if change is None else change(chunk, rows, below, out)
                self._stage.note(chunk)
                return chunk

        return Step(rows_of, measured, passes)

    def wrap_spread(self, node: Node, spread: Spread, /) -> Spread:
        def run(piece: Piece) -> Piece:
            with self._measured(self._stage):
                made = spread(piece)
                self._stage.note(made.chunk)
                return made

        return run


def _in_pieces(compiled: _Compiled, node: Node, guard: Guard | None) -> _Compiled:
    """Return the node compiled to yield pieces; `guard` runs the program of an indexed node by itself."""
    if compiled.line is None:
        return compiled
    rows = of_rows(compiled.line.program)
    return _Compiled(None, compiled.base, SpreadLine(rows if guard is None else guard(node, rows)))


def _guards_over(plan: Node) -> dict[int, Guard | None]:
    """Return the guard of each node by the node's id: that of the nearest node above in its stretch."""
    guards: dict[int, Guard | None] = {}
    waiting: list[tuple[Node, Guard | None]] = [(plan, None)]
    while waiting:
        node, guard = waiting.pop()
        if id(node) not in guards:
            guards[id(node)] = guard
            below = (node.guard or guard) if node.elementwise and not node.indexed else None
            waiting += [(each, below) for each in node.inputs]
    return guards


def _take(compiled: _Compiled, last: DryRunStage, plan: Node, rows: int) -> None:
    if compiled.line is not None:
        count = rows if plan.length == INFINITE else min(rows, plan.length)
        if count:
            compiled.line.program(np.arange(count, dtype=np.int64))
        return
    flow = compiled.open(0)
    try:
        while last.made < rows and next(flow, None) is not None:
            pass
    finally:
        close(flow)


def _without_cache(node: Node) -> Node:
    return RowMap(node.input) if isinstance(node, Cache) else node

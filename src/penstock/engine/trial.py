"""Make an element of every stage of a plan once, here and alone, to see what comes of it and what it takes."""

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

MOST_READ = 10_000  # elements of a source, which then counts as over: a filter may want none of them
LONGEST = 10.0  # seconds, after which the sources of streams count as over


@dataclass(eq=False)
class Stage:
    """What came of one node: `made` elements in `wall` ns, without what other nodes took meanwhile; or its error."""

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
        """The time of one element."""
        return self.wall / self.made / 1e9 if self.made else None

    def note(self, chunk: Chunk) -> None:
        """Count what was made, and look at the first of it."""
        if self.element is None and len(chunk):
            self.first = chunk.element(0)
            self.element = spec_of(self.first)
        self.made += len(chunk)


@dataclass(frozen=True)
class Way:
    """How to make the elements of a stage: any rows, by the program of `line`, where it is indexed; or piece by piece.

    Each piece of `base`, in which `depth` flows are nested, goes through `spreads`, elementwise operations in one go,
    as by the engine.
    """

    line: Line | None
    base: Open
    spreads: SpreadLine | None = None
    depth: int = 0

    def open(self, epoch: int, mark: Mark = None) -> Flow:
        """The pieces of an epoch."""
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


class Trial:
    """Takes the first `rows` elements of a plan whose seeds are bound, or as many as there are before one fails.

    The sources of streams end early: at `MOST_READ` elements, or after `LONGEST` seconds. Caches keep nothing of it.
    """

    def __init__(self, plan: Node, rows: int) -> None:
        self._began = perf_counter_ns()
        self._inside = 0  # ns that operations took which the one at work has called
        self._failures: dict[int, tuple[Exception, Stage]] = {}  # by the exception's identity: where it came from
        self._shop = Session(replace(settings_of(plan), executor="inline"), CarryOver(), Unobserved())
        self.stages: list[Stage] = []
        run = rebuild(plan, _without_cache)
        self._guards = _guards_over(run)
        way = fold(run, self._way)
        for stage, (_, depth) in zip(self.stages, with_depth(run), strict=True):
            stage.depth = depth
        try:
            _take(way, self.stages[-1], plan, rows)
        except Exception as error:
            if id(error) not in self._failures:
                raise
            self._failures[id(error)][1].error = error
        finally:
            self._shop.close()

    def _way(self, node: Node, inputs: tuple[Way, ...]) -> Way:
        own = Stage(node)
        self.stages.append(own)
        watching = _Watching(own, self._watch)
        if node.indexed:
            lines = tuple(way.line for way in inputs if way.line is not None)
            return Way(lined(node, lines, np.empty, watching), partial(self._one_by_one, own))
        inputs = tuple(
            _in_pieces(way, each, self._guards[id(each)]) for way, each in zip(inputs, node.inputs, strict=True)
        )
        if node.elementwise and inputs:
            (below,) = inputs
            guard = self._guards[id(node)] if node.guard is None else None
            return replace(below, spreads=spread_after(node, below.spreads, np.empty, watching, guard))
        if isinstance(node, Unfolding):
            unpack = node.in_tasks(Given())
            inputs = tuple(
                replace(way, spreads=spread_after(unpack, way.spreads, np.empty, Unobserved())) for way in inputs
            )
        begin = partial(self._watching_flow, own, beginning(node, tuple(way.open for way in inputs), self._shop))
        depth = 2 + max((way.depth for way in inputs), default=0)
        return Way(None, begin, depth=depth) if depth < DEEPEST else Way(None, flow_on_another_stack(begin))

    def _watching_flow(self, stage: Stage, begin: Open, epoch: int, mark: Mark = None) -> Flow:
        with self._watch(stage):
            flow = begin(epoch, mark)
        try:
            while stage.node.inputs or not self._is_over(stage):
                with self._watch(stage):
                    piece = next(flow, None)
                    if piece is None:
                        return
                    stage.note(piece.chunk)
                yield piece
        finally:
            close(flow)

    def _one_by_one(self, stage: Stage, epoch: int, mark: Mark = None) -> Flow:
        """The rows of an indexed node, whose elements are still to be made; the mark is the next row."""
        stride = stage.node.stride
        for row in range(mark or 0, stride):
            if self._is_over(stage):
                return
            yield Piece(NOTHING, np.array([epoch * stride + row], np.int64), row + 1)

    def _is_over(self, stage: Stage) -> bool:
        read = max(stage.calls, stage.made)  # all may fail, and be left out
        return read >= MOST_READ or (read > 0 and perf_counter_ns() - self._began > LONGEST * 1e9)

    @contextmanager
    def _watch(self, stage: Stage) -> Generator[None]:
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


class _Watching(Unobserved):
    """Watches the making of one stage's elements."""

    def __init__(self, stage: Stage, watch: Callable[[Stage], AbstractContextManager[None]]) -> None:
        self._stage = stage
        self._watch = watch

    def wrap(self, node: Node, program: Program, /) -> Program:
        def run(rows: Rows, out: Out = None) -> Chunk:
            with self._watch(self._stage):
                chunk = program(rows, out)
                self._stage.note(chunk)
                return chunk

        return run

    def wrap_step(self, node: Node, step: Step, /) -> Step:
        rows_of, change, passes = step

        def watched(chunk: Chunk, rows: Rows, out: Out) -> Chunk:
            with self._watch(self._stage):
                chunk = chunk if change is None else change(chunk, rows, out)
                self._stage.note(chunk)
                return chunk

        return Step(rows_of, watched, passes)

    def wrap_spread(self, node: Node, spread: Spread, /) -> Spread:
        def run(piece: Piece) -> Piece:
            with self._watch(self._stage):
                made = spread(piece)
                self._stage.note(made.chunk)
                return made

        return run


def _in_pieces(way: Way, node: Node, guard: Guard | None) -> Way:
    """The way to make the elements of a node piece by piece; `guard` runs the program of an indexed one by itself."""
    if way.line is None:
        return way
    rows = of_rows(way.line.program)
    return Way(None, way.base, SpreadLine(rows if guard is None else guard(node, rows)))


def _guards_over(plan: Node) -> dict[int, Guard | None]:
    """The guard that each node is run by, by the node's identity: that of the nearest one above in its stretch."""
    guards: dict[int, Guard | None] = {}
    waiting: list[tuple[Node, Guard | None]] = [(plan, None)]
    while waiting:
        node, guard = waiting.pop()
        if id(node) not in guards:
            guards[id(node)] = guard
            below = (node.guard or guard) if node.elementwise and not node.indexed else None
            waiting += [(each, below) for each in node.inputs]
    return guards


def _take(way: Way, last: Stage, plan: Node, rows: int) -> None:
    if way.line is not None:
        count = rows if plan.length == INFINITE else min(rows, plan.length)
        if count:
            way.line.program(np.arange(count, dtype=np.int64))
        return
    flow = way.open(0)
    try:
        while last.made < rows and next(flow, None) is not None:
            pass
    finally:
        close(flow)


def _without_cache(node: Node) -> Node:
    return RowMap(node.input) if isinstance(node, Cache) else node

"""Make an element of every stage of a plan once, here and alone, to see what comes of it and what it takes."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter_ns
from typing import Any

import numpy as np

from penstock.elements.chunk import Chunk
from penstock.elements.spec import Spec, spec_of
from penstock.engine.legacy import Legacy
from penstock.engine.observer import Unobserved
from penstock.engine.opening import beginning
from penstock.engine.settings import settings_of
from penstock.engine.stage import NOTHING
from penstock.engine.workshop import Workshop
from penstock.ops.buffer.cache import Cache
from penstock.ops.combine.inner import Unfolding
from penstock.ops.read.given import Given
from penstock.plan.flow import Flow, Mark, Open, Piece, Spread, close
from penstock.plan.graph import fold, rebuild
from penstock.plan.node import INFINITE, Node, Passing, Program, Rows

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
    """The stages so far, and how to make the last one's elements: any rows, where it is indexed, or piece by piece.

    What comes of each piece of `base` is made by `spread`, elementwise operations in one go, as by the engine.
    """

    stages: tuple[Stage, ...]
    program: Program | None
    base: Open
    spread: Spread

    def open(self, epoch: int, mark: Mark = None) -> Flow:
        """The pieces of an epoch."""
        flow = self.base(epoch, mark)
        try:
            for piece in flow:
                yield self.spread(piece)
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
        self._shop = Workshop(replace(settings_of(plan), executor="inline"), Legacy(), Unobserved())
        way = fold(rebuild(plan, _without_cache), self._way)
        self.stages = way.stages
        try:
            _take(way, plan, rows)
        except Exception as error:
            if id(error) not in self._failures:
                raise
            self._failures[id(error)][1].error = error
        finally:
            self._shop.close()

    def _way(self, node: Node, inputs: tuple[Way, ...]) -> Way:
        above = [stage for way in inputs for stage in way.stages]
        for stage in above:
            stage.depth += len(inputs) > 1  # each input of several stands one step in
        own = Stage(node)
        stages = (*above, own)
        programs = tuple(way.program for way in inputs if way.program is not None)
        if node.indexed:
            program = self._watching_program(own, node.program(programs, np.empty))
            base = partial(self._one_by_one, own)
            return Way(stages, program, base, lambda piece: Piece(program(piece.ids), piece.ids, piece.after))
        if node.elementwise and inputs:
            spread = self._watching_spread(own, node.spread(inputs[0].spread, np.empty))
            return Way(stages, None, inputs[0].base, spread)
        if isinstance(node, Unfolding):
            unpack = node.in_tasks(Given())
            inputs = tuple(replace(way, spread=unpack.spread(way.spread, np.empty)) for way in inputs)
        begin = beginning(node, tuple(way.open for way in inputs), self._shop)
        return Way(stages, None, partial(self._watching_flow, own, begin), lambda piece: piece)

    def _watching_program(self, stage: Stage, program: Program) -> Program:
        def run(rows: Rows, out: list[np.ndarray] | None = None) -> Chunk:
            with self._watch(stage):
                chunk = program(rows, out)
                stage.note(chunk)
                return chunk

        return run

    def _watching_spread(self, stage: Stage, spread: Spread) -> Spread:
        def run(piece: Piece) -> Piece:
            with self._watch(stage):
                made = spread(piece)
                stage.note(made.chunk)
                return made

        return run

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


def _take(way: Way, plan: Node, rows: int) -> None:
    if way.program is not None:
        count = rows if plan.length == INFINITE else min(rows, plan.length)
        if count:
            way.program(np.arange(count, dtype=np.int64))
        return
    flow = way.open(0)
    try:
        while way.stages[-1].made < rows and next(flow, None) is not None:
            pass
    finally:
        close(flow)


def _without_cache(node: Node) -> Node:
    return Passing(node.input) if isinstance(node, Cache) else node

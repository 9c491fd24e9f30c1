"""Make one element of every operation of a plan, inline, to find its spec, its cost, or the error that it raises."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from time import perf_counter_ns
from typing import Any

import numpy as np

from penstock.core.arrays import Rows
from penstock.core.contexts import contextmanager
from penstock.dryrun.unkept import unkept
from penstock.elements.chunks.chunk import Chunk
from penstock.elements.spec import Spec, spec_of
from penstock.engine.runs.feeds import OpenFeed
from penstock.engine.runs.lowering import OpenStage, lowered
from penstock.engine.runs.scope import CarryOver, Scope
from penstock.engine.runs.session import Session
from penstock.engine.runs.stage import Stretch
from penstock.engine.tasks.compile import compiled, spreading
from penstock.engine.tasks.observer import Occurrence, Unobserved, called_within
from penstock.engine.tuning.settings import settings_of
from penstock.plan.flow import MOST_READ, Flow, Mark, Open, close
from penstock.plan.graph import rebuild, with_depth
from penstock.plan.node import Node
from penstock.plan.types import INFINITE

MOST_SOURCE_ELEMENTS = 10_000  # read of a source, which then counts as exhausted: a filter may drop all of them
LONGEST_DRY_RUN = 10.0  # seconds, after which the sources of streams count as exhausted
_STAGE = "dry run"
"""The key of a node's stage among its facts, which persist whatever its inputs are."""


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
    began: int = field(default_factory=perf_counter_ns)

    @property
    def is_over(self) -> bool:
        """True if enough was read of a source."""
        read = max(self.calls, self.made)  # all may fail and be skipped
        return read >= MOST_SOURCE_ELEMENTS or (read > 0 and perf_counter_ns() - self.began > LONGEST_DRY_RUN * 1e9)

    @property
    def seconds(self) -> float | None:
        """The time of one element; `None` if none was made."""
        return self.wall / self.made / 1e9 if self.made else None

    def note(self, ids: Rows, chunk: Chunk) -> None:
        """Count the elements of a chunk, and keep the first one and its spec."""
        if self.element is None and len(chunk):
            self.first = chunk.element(0)
            self.element = spec_of(self.first)
        self.made += len(chunk)


class DryRun:
    """A run of the first `rows` elements of a plan whose seeds are bound, or as many as come before one fails.

    The sources of streams end early: after `MOST_SOURCE_ELEMENTS` elements or `LONGEST_DRY_RUN` seconds. Nothing is
    written to caches.
    """

    def __init__(self, plan: Node, rows: int) -> None:
        self.stages: list[DryRunStage] = []
        measuring = _Measuring()
        run = rebuild(plan, self._with_stage)
        for stage, (_, depth) in zip(self.stages, with_depth(run), strict=True):
            stage.depth = depth
        settings = replace(settings_of(plan), executor="inline")
        with closing(Session(settings, CarryOver(), measuring)) as session:
            try:
                self._take(run, rows, session.scope())
            except Exception as error:
                if id(error) not in measuring.failures:
                    raise
                measuring.failures[id(error)][1].error = error

    def _with_stage(self, node: Node) -> Node:
        """Return a copy of the node that knows its stage, whatever its inputs are; without a cache."""
        made = unkept(node)
        self.stages.append(DryRunStage(made))
        made.memo.update({**node.memo, _STAGE: self.stages[-1]})
        return made

    def _take(self, plan: Node, rows: int, scope: Scope) -> None:
        if plan.indexed:
            count = rows if plan.length == INFINITE else min(rows, plan.length)
            if count:
                compiled(plan, np.empty, scope.observer)(np.arange(count, dtype=np.int64))
            return
        flow = lowered(plan, scope, row_by_row(lambda base: _stage_of(base).is_over))(0)
        try:
            while self.stages[-1].made < rows and next(flow, None) is not None:
                pass
        finally:
            close(flow)


def row_by_row(is_over: Callable[[Node], bool]) -> OpenStage:
    """Return the function that opens the pieces of a stretch, made here; a stretch on rows makes one at a time.

    The rows end early once they are over for `is_over(node)`, the node that they are rows of.
    """

    def open_stage(stretch: Stretch, open_feed: OpenFeed, scope: Scope) -> Open:
        spread, base = spreading(stretch.plan, np.empty, scope.observer), stretch.base

        def pieces(epoch: int, mark: Mark = None) -> Flow:
            feed, most = open_feed(epoch, mark), MOST_READ if base is None else 1
            try:
                while (base is None or not is_over(base)) and (job := feed.take(most)) is not None:
                    yield spread(job.task.given)
            finally:
                feed.close()

        return pieces

    return open_stage


class _Measuring(Unobserved):
    """Measures the making of each stage's elements, and notes where exceptions were raised."""

    def __init__(self) -> None:
        self.failures: dict[int, tuple[Exception, DryRunStage]] = {}
        """Exceptions and where they were raised, by the exception's id."""
        self._inside = 0  # ns spent in the operations that the current one has called

    def wrap(self, of: Occurrence | None, function: Any, /) -> Any:
        stage = None if of is None else of.node.memo.get(_STAGE)
        if of is None or stage is None:  # a part of the operation above it
            return function
        if of.kind == "flow" and not of.node.inputs:
            function = partial(_until_over, stage, function)
        return called_within(partial(self._measured, stage), of.kind, function)

    @contextmanager
    def _measured(self, stage: DryRunStage) -> Generator[Callable[[Rows, Chunk], None]]:
        above, self._inside = self._inside, 0
        began = perf_counter_ns()
        try:
            yield stage.note
        except Exception as error:
            self.failures.setdefault(id(error), (error, stage))
            raise
        finally:
            spent = perf_counter_ns() - began
            stage.wall += spent - self._inside
            stage.calls += 1
            self._inside = above + spent


def _until_over(stage: DryRunStage, begin: Open, epoch: int, mark: Mark = None) -> Flow:
    flow = begin(epoch, mark)
    try:
        while not stage.is_over and (piece := next(flow, None)) is not None:
            yield piece
    finally:
        close(flow)


def _stage_of(node: Node) -> DryRunStage:
    return node.memo[_STAGE]

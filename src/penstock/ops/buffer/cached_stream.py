"""A stream whose elements are all kept: any of them can be read alone."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import field
from typing import Any

import numpy as np

from penstock.core.arrays import Allocate, Rows
from penstock.core.cached import cached_property
from penstock.core.errors import CursorError
from penstock.core.frozen import frozen
from penstock.elements.chunks.chunk import Chunk, concat
from penstock.index.epochs import positions
from penstock.ops.buffer.cache import Cache, RowsKept
from penstock.ops.order.shuffle import Shuffle
from penstock.plan.flow import Flow, close
from penstock.plan.graph import post_order, rebuild_once
from penstock.plan.node import Node
from penstock.plan.traits import Traits
from penstock.plan.types import Program, Spec


@frozen()
class CachedStream(Node):
    """Yield the `count` elements that a cache has kept of a stream, whose plan has the fingerprint `stream`.

    `plans` are the cache as written and with its seeds. An element that is damaged on disk is made again by running the
    stream up to it, with `opened`.
    """

    traits = Traits(ids="counted")

    count: int
    stream: str
    plans: tuple[Cache, Cache] = field(metadata={"runs": True}, compare=False)
    opened: Callable[[Node], Flow] = field(metadata={"runs": True}, compare=False)

    @property
    def name(self) -> str:
        return "cache"

    @cached_property
    def length(self) -> int:
        return self.count

    def spec(self) -> Spec | None:
        return self.plans[0].spec()

    @property
    def functions(self) -> tuple[Any, ...]:
        return ()

    def route(self, rows: Rows) -> tuple[Rows, ...]:
        return ()

    def program(self, inputs: tuple[Program, ...], allocate: Allocate) -> Program:
        bound, turns = self.plans[1], threading.Lock()
        found: list[RowsKept] = []

        def kept() -> RowsKept:
            with turns:
                if not found:
                    if bound.store.lacks_stream(bound.seeds):
                        self._read_through()
                    found.append(bound.store.rows(bound.seeds, self.count))
                return found[0]

        def make(rows: Rows, out: Any = None) -> Chunk:
            order = np.argsort(rows)
            with turns:
                return self._made(rows[order]).select(np.argsort(order))

        def run(rows: Rows, out: Any = None) -> Chunk:
            return kept().fetch(positions(rows, self.stride), make, out)

        return run

    def _read_through(self) -> None:
        """Make the elements once, which keeps them: in another process than the one that kept them in memory."""
        flow = self.opened(self.plans[1])
        try:
            for _ in flow:
                pass
        finally:
            close(flow)

    def _made(self, rows: Rows) -> Chunk:
        """Return elements at ascending positions by running the stream from the beginning."""
        found: list[Chunk] = []
        at, last = 0, int(rows[-1])
        flow = self.opened(self.plans[1])
        try:
            while at <= last and (piece := next(flow, None)) is not None:
                low, high = np.searchsorted(rows, [at, at + len(piece)])
                found.append(piece.chunk.select(rows[low:high] - at))
                at += len(piece)
        finally:
            close(flow)
        if at <= last:
            raise CursorError(
                f"{self.label()}: element {last:,} is made again from the stream, which now ends after {at:,} elements "
                f"but had {self.count:,} when they were cached"
            )
        return concat([chunk for chunk in found if len(chunk)])

    def arguments(self) -> str:
        return self.plans[0].arguments()


def as_streams(plan: Node, chosen: Callable[[Node], bool] = lambda stream: True) -> Node:
    """Return the plan that reads cached streams in order, as before their last elements were cached."""

    def combine(node: Node) -> Node:
        if isinstance(node, CachedStream) and chosen(node.plans[0]):
            return node.plans[0]
        return node.as_asked if isinstance(node, Shuffle) and not node.input.indexed else node

    return rebuild_once(plan, combine) if any(isinstance(node, CachedStream) for node in post_order(plan)) else plan

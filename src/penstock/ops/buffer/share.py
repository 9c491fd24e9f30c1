"""Let one process of the host prepare the elements for all processes that want the same."""

from __future__ import annotations

from dataclasses import field
from typing import Protocol

import numpy as np

from penstock.core.arrays import Allocate, Rows
from penstock.core.cached import cached_property
from penstock.core.frozen import frozen
from penstock.elements.chunks.chunk import Chunk
from penstock.index.blocked import Blocks
from penstock.plan.flow import Flow, Mark, Open, Piece
from penstock.plan.graph import blocks_of
from penstock.plan.node import Node, RowMap
from penstock.plan.traits import Traits
from penstock.plan.types import Program, Spec


class Prepared(Protocol):
    """The elements of a plan, prepared by another process."""

    plan: Node
    """The plan, with its seeds bound."""

    @property
    def name(self) -> str:
        """The name under which they are shared."""
        ...

    @property
    def run(self) -> Node:
        """The plan after rewrites, as that process runs it."""
        ...

    def rows(self, rows: Rows, /) -> Chunk:
        """Return the elements of these rows, if the plan is indexed."""
        ...

    def after(self, epoch: int, mark: Mark, /) -> Piece | None:
        """Return the piece that begins at a mark of the plan, a stream; `None` at the end of the epoch."""
        ...


class SharedName(Protocol):
    """A name under which processes share the elements of a plan."""

    name: str

    def prepared(self, plan: Node, /) -> Prepared:
        """Return the elements of a plan with its seeds bound; nothing is started yet."""
        ...


@frozen()
class Share(RowMap):
    """Yield the elements of `input`, which one process prepares for all that share them under one name.

    A run has a `SharedElements` instead of this node and those below it.
    """

    keeps_order = True
    traits = Traits(ids="kept", one_to_one=True)

    under: SharedName = field(metadata={"runs": True})

    @property
    def name(self) -> str:
        return "share"

    def arguments(self) -> str:
        return repr(self.under.name)


@frozen()
class SharedElements(Node):
    """Yield the elements of a plan that another process prepares; marks are those of the plan."""

    prepared: Prepared

    @property
    def name(self) -> str:
        return "share"

    @cached_property
    def length(self) -> int:
        return self.prepared.plan.length

    @cached_property
    def indexed(self) -> bool:
        return self.prepared.plan.indexed

    @cached_property
    def stride(self) -> int:
        return self.prepared.plan.stride

    @cached_property
    def epochs(self) -> int:
        return self.prepared.plan.epochs

    def spec(self) -> Spec | None:
        return self.prepared.plan.spec()

    def route(self, rows: Rows) -> tuple[Rows, ...]:
        return ()

    def blocks(self, inputs: tuple[Blocks | None, ...]) -> Blocks | None:
        return blocks_of(self.prepared.plan)

    def program(self, inputs: tuple[Program, ...], allocate: Allocate) -> Program:
        prepared = self.prepared

        def run(rows: Rows, out: list[np.ndarray] | None = None) -> Chunk:
            return prepared.rows(rows)

        return run

    def flow(self, inputs: tuple[Open, ...], epoch: int, mark: Mark, allocate: Allocate) -> Flow:
        while (piece := self.prepared.after(epoch, mark)) is not None:
            mark = piece.after
            yield piece

    def arguments(self) -> str:
        return repr(self.prepared.name)

"""Read the elements of a source."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.core.arrays import Allocate, Rows
from penstock.core.cached import cached_property
from penstock.core.frozen import frozen
from penstock.elements.chunks.chunk import Chunk
from penstock.index.epochs import positions
from penstock.plan import safety
from penstock.plan.node import Node
from penstock.plan.types import Program, Spec
from penstock.sources.powers import GathersNatively, blocks_of_source, called_by, faults_of, native_gatherer
from penstock.sources.protocol import Source

if TYPE_CHECKING:
    from penstock.index.blocked import Blocks


@frozen()
class Read(Node):
    """Read the elements of `source`, the same in every epoch."""

    source: Source

    @property
    def name(self) -> str:
        return self.source.name

    @cached_property
    def length(self) -> int:
        return self.source.length

    def spec(self) -> Spec | None:
        return self.source.spec()

    @property
    def functions(self) -> tuple[Any, ...]:
        return () if called_by(self.source) is None else (self.source,)

    def route(self, rows: Rows) -> tuple[Rows, ...]:
        return ()

    def blocks(self, inputs: tuple[Blocks | None, ...]) -> Blocks | None:
        return blocks_of_source(self.source)

    def program(self, inputs: tuple[Program, ...], allocate: Allocate) -> Program:
        read_many, stride = self._reading, self.stride

        def run(rows: Rows, out: list[np.ndarray] | None = None) -> Chunk:
            return read_many(positions(rows, stride), out)

        return run

    @property
    def gatherable(self) -> GathersNatively | None:
        """The source, if a native thread can gather its rows."""
        return native_gatherer(self.source)

    @property
    def _reading(self) -> Callable[..., Chunk]:
        """The function that reads rows; one thread at a time calls it if the source calls the user's code."""
        read_many = self.source.read_many
        turns = safety.calls.turns_of(self.source) if self.functions else None
        if turns is None:
            return read_many

        def alone(rows: Rows, out: list[np.ndarray] | None = None) -> Chunk:
            with turns:
                return read_many(rows, out)

        return alone

    def label(self) -> str:
        return self.source.name


def refuse_faults(plan: Node) -> None:
    """Raise the error of a broken file that `plan` reads, unless an operation above drops failing elements.

    A source lists such errors as its `faults`, by file: each belongs to one element that stands for the unreadable part
    of the file. The error is raised before the first element instead of at a later one.
    """
    waiting, seen = [plan], set[int]()
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, Read):
            for fault in faults_of(node.source).values():
                raise copy(fault)  # notes added to a raised error belong to that raise only
        if not node.traits.forgives:
            waiting.extend(reversed(node.inputs))

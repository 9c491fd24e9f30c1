"""Combine elements of several inputs."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import field
from functools import reduce
from typing import Any

import numpy as np

from penstock.core.arrays import Allocate, Rows
from penstock.core.cached import cached_property
from penstock.core.frozen import frozen
from penstock.elements.chunks.chunk import Chunk
from penstock.elements.nested.nesting import nested
from penstock.elements.nested.structure import unflatten
from penstock.index.blocked import Blocks, blocks_side_by_side
from penstock.index.paired import paired
from penstock.plan.flow import MOST_READ, Flow, Mark, Open, Piece, Reader, resumed
from penstock.plan.node import Node, rows_within
from penstock.plan.types import INFINITE, UNKNOWN, Program, Spec


@frozen()
class Zip(Node):
    """Combine the elements of `members` in `structure`, up to the end of the shortest."""

    members: tuple[Node, ...] = field(metadata={"nodes": True})
    structure: Any

    @cached_property
    def length(self) -> int:
        finite = [node.length for node in self.members if node.length != INFINITE]
        return UNKNOWN if UNKNOWN in finite else min(finite, default=INFINITE)

    def spec(self) -> Spec | None:
        specs = [node.spec() for node in self.members]
        return None if any(spec is None for spec in specs) else unflatten(self.structure, specs)

    def route(self, rows: Rows) -> tuple[Rows, ...]:
        return tuple(
            paired(rows_within(rows, self.length, node), length=self.stride, strides=(node.stride,))[0]
            for node in self.members
        )

    def blocks(self, inputs: tuple[Blocks | None, ...]) -> Blocks | None:
        blocked = [blocks for blocks in inputs if blocks is not None]
        if not blocked or self.length < 1:
            return None
        return reduce(lambda one, other: blocks_side_by_side(one, other, self.length), blocked, blocked[0])

    def program(self, inputs: tuple[Program, ...], allocate: Allocate) -> Program:
        def run(rows: Rows, out: list[np.ndarray] | None = None) -> Chunk:
            chunks = [make(its_rows) for make, its_rows in zip(inputs, self.route(rows), strict=True)]
            return nested(self.structure, chunks)

        return run

    def flow(self, inputs: tuple[Open, ...], epoch: int, mark: Mark, allocate: Allocate) -> Flow:
        marks = resumed(mark, [None] * len(inputs))
        with ExitStack() as stack:
            readers = [stack.enter_context(Reader(source, epoch, at)) for source, at in zip(inputs, marks, strict=True)]
            while count := _ready(readers):
                pieces = [piece for reader in readers if (piece := reader.read(count)) is not None]
                together = nested(self.structure, [piece.chunk for piece in pieces])
                yield Piece(together, pieces[0].ids, [reader.mark for reader in readers])

    def arguments(self) -> str:
        return f"{len(self.members)} datasets"


def _ready(readers: list[Reader]) -> int:
    """Return the number of elements that all readers have ready; once a reader has ended, request no more of others."""
    fewest = MOST_READ
    for reader in readers:
        fewest = min(fewest, reader.ready()) if fewest else 0
    return fewest

"""Yield the elements of several inputs, one input after another."""

from __future__ import annotations

from dataclasses import field
from functools import reduce

import numpy as np

from penstock.core.arrays import Allocate, Rows
from penstock.core.cached import cached_property
from penstock.core.frozen import frozen
from penstock.elements.chunks.chunk import Chunk
from penstock.elements.spec import relax
from penstock.index.blocked import Blocks
from penstock.index.epochs import check_last, split
from penstock.ops.combine.concatenate import blocks_of_both
from penstock.ops.combine.mixture import merged
from penstock.plan.flow import MOST_READ, Flow, Mark, Open, Piece, Reader, resumed
from penstock.plan.ids import ordinals
from penstock.plan.node import Node
from penstock.plan.traits import Traits
from penstock.plan.types import INFINITE, UNKNOWN, Program, Spec


@frozen()
class EndToEnd(Node):
    """Yield the elements of `members`, one member after another; only the last may be endless."""

    traits = Traits(ids="counted")

    members: tuple[Node, ...] = field(metadata={"nodes": True})

    @property
    def name(self) -> str:
        return "concatenate"

    @cached_property
    def length(self) -> int:
        lengths = [node.length for node in self.members]
        if INFINITE in lengths:
            return INFINITE
        return UNKNOWN if UNKNOWN in lengths else sum(lengths)

    def spec(self) -> Spec | None:
        specs = [node.spec() for node in self.members]
        return None if any(spec is None for spec in specs) else reduce(relax, specs)

    def split(self, rows: Rows) -> tuple[Rows, Rows]:
        """Return the member that makes each row and the row in that member: both `int64[k]`."""
        starts, strides = self._starts
        epochs, positions = split(rows, self.stride)
        if len(rows):
            check_last(epochs, int(strides.max()))
        which = np.searchsorted(starts, positions, side="right") - 1  # the last of those that start at the same row
        return which, positions - starts[which] + epochs * strides[which]

    @cached_property
    def _starts(self) -> tuple[Rows, Rows]:
        """The position of the first element of each member, and the number of rows in one epoch of the member."""
        strides = np.array([node.stride for node in self.members], np.int64)
        return np.append(0, np.cumsum(strides[:-1])), strides

    def route(self, rows: Rows) -> tuple[Rows, ...]:
        which, its_rows = self.split(rows)
        return tuple(its_rows[which == member] for member in range(len(self.members)))

    def blocks(self, inputs: tuple[Blocks | None, ...]) -> Blocks | None:
        if self.length < 0:
            return None
        blocks, length = inputs[0], self.members[0].length
        for other, node in zip(inputs[1:], self.members[1:], strict=True):
            blocks = blocks_of_both((blocks, other), (length, node.length))
            length += node.length
        return blocks

    def program(self, inputs: tuple[Program, ...], allocate: Allocate) -> Program:
        def run(rows: Rows, out: list[np.ndarray] | None = None) -> Chunk:
            which, its_rows = self.split(rows)
            if len(which) == 0 or (which == which[0]).all():
                return inputs[which[0] if len(which) else 0](its_rows, out)
            return merged(which, lambda member, places: inputs[member](its_rows[places]))

        return run

    def flow(self, inputs: tuple[Open, ...], epoch: int, mark: Mark, allocate: Allocate) -> Flow:
        which, made, at = resumed(mark, (0, 0, None))
        while which < len(inputs):
            with Reader(inputs[which], epoch, at) as reader:
                while (piece := reader.read(MOST_READ)) is not None:
                    ids = ordinals(epoch, made, len(piece))
                    made += len(piece)
                    yield Piece(piece.chunk, ids, [which, made, reader.mark])
            which, at = which + 1, None

    def arguments(self) -> str:
        return f"{len(self.members)} datasets"

"""Yield the elements of one input, then the elements of another."""

from __future__ import annotations

import numpy as np

from penstock.core.arrays import Allocate, Rows
from penstock.core.cached import cached_property
from penstock.core.frozen import frozen
from penstock.elements.chunks.chunk import Chunk, concat
from penstock.elements.spec import relax
from penstock.index.blocked import Blocks, blocks_end_to_end, even
from penstock.index.concatenated import concatenated
from penstock.plan.flow import MOST_READ, AskedFlow, Mark, Open, Piece, Reader, resumed
from penstock.plan.ids import ordinals
from penstock.plan.node import Node
from penstock.plan.traits import Traits
from penstock.plan.types import INFINITE, UNKNOWN, Program, Spec


@frozen()
class Concatenate(Node):
    """Yield the elements of `first`, then the elements of `second`."""

    traits = Traits(ids="counted")

    first: Node
    second: Node

    @cached_property
    def length(self) -> int:
        if INFINITE in (self.first.length, self.second.length):
            return INFINITE
        if UNKNOWN in (self.first.length, self.second.length):
            return UNKNOWN
        return self.first.length + self.second.length

    def spec(self) -> Spec | None:
        first, second = self.first.spec(), self.second.spec()
        return None if first is None or second is None else relax(first, second)

    def split(self, rows: Rows) -> tuple[np.ndarray, Rows, Rows]:
        """Return a mask of the rows of the first input, their rows there, and the rows of the others in the second."""
        return concatenated(
            rows,
            first=self.first.stride,
            stride=self.stride,
            first_stride=self.first.stride,
            second_stride=self.second.stride,
        )

    def route(self, rows: Rows) -> tuple[Rows, ...]:
        _, first, second = self.split(rows)
        return first, second

    def blocks(self, inputs: tuple[Blocks | None, ...]) -> Blocks | None:
        return None if self.length < 0 else blocks_of_both(inputs, (self.first.length, self.second.length))

    def program(self, inputs: tuple[Program, ...], allocate: Allocate) -> Program:
        make_first, make_second = inputs

        def run(rows: Rows, out: list[np.ndarray] | None = None) -> Chunk:
            is_first, first, second = self.split(rows)
            if len(second) == 0:
                return make_first(rows if len(first) == 0 else first, out)
            if len(first) == 0:
                return make_second(second, out)
            both = concat([make_first(first), make_second(second)])
            # place[i]: the position of element i of the result in `both`
            place = np.empty(len(rows), np.int64)
            place[is_first] = np.arange(len(first))
            place[~is_first] = np.arange(len(first), len(rows))
            return both.select(place)

        return run

    def flow(self, inputs: tuple[Open, ...], epoch: int, mark: Mark, allocate: Allocate) -> AskedFlow:
        wanted: int | None = None
        which, made, at = resumed(mark, (0, 0, None))
        while which < 2:
            with Reader(inputs[which], epoch, at) as reader:
                while (piece := reader.read(MOST_READ, wanted)) is not None:
                    ids = ordinals(epoch, made, len(piece))
                    made += len(piece)
                    wanted = yield Piece(piece.chunk, ids, [which, made, reader.mark])
            which, at = which + 1, None

    def arguments(self) -> str:
        return "..."


def blocks_of_both(both: tuple[Blocks | None, ...], lengths: tuple[int, int]) -> Blocks | None:
    """Return the blocks of two inputs end to end; an input without blocks is given some."""
    known = next((blocks for blocks in both if blocks is not None), None)
    if known is None:
        return None
    size = max(known.length // known.count, 1)  # blocks for the part that has none
    first, second = (
        even(length, size, known.window) if blocks is None else blocks
        for length, blocks in zip(lengths, both, strict=True)
    )
    return blocks_end_to_end(first, second)

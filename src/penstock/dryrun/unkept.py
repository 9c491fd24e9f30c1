"""A cache that keeps nothing, for a run of a few elements that should leave no trace."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from penstock.core.frozen import frozen
from penstock.index.epochs import positions
from penstock.ops.buffer.cache import Cache
from penstock.plan.flow import MOST_READ, Flow, Mark, Open, Piece, Reader
from penstock.plan.ids import ordinals
from penstock.plan.node import Node, RowMap
from penstock.plan.traits import Traits

if TYPE_CHECKING:
    from penstock.core.arrays import Allocate, Rows


@frozen()
class Unkept(RowMap):
    """Yield the elements of the first epoch of `input` in every epoch, each made anew."""

    traits = Traits(ids="counted", one_to_one=True)

    @property
    def name(self) -> str:
        return "cache"

    def rows_of(self, rows: Rows) -> Rows:
        return positions(rows, self.stride)

    def flow(self, inputs: tuple[Open, ...], epoch: int, mark: Mark, allocate: Allocate) -> Flow:
        """Yield the pieces of the input, whose elements are numbered as those of a cache are."""
        at = 0
        with Reader(inputs[0], 0) as reader:
            while (piece := reader.read(MOST_READ)) is not None:
                at += len(piece)
                yield Piece(piece.chunk, ordinals(epoch, at - len(piece), len(piece)))


def unkept(node: Node) -> Node:
    """Return a copy of a node; of a cache, one that keeps nothing."""
    return Unkept(node.input) if isinstance(node, Cache) else replace(node)

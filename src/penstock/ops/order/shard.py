"""Keep one of several disjoint parts."""

from __future__ import annotations

import numpy as np

from penstock.core.arrays import Allocate, Rows
from penstock.core.cached import cached_property
from penstock.core.frozen import frozen
from penstock.index.strided import strided
from penstock.plan.flow import MOST_READ, Flow, Mark, Open, Piece, Reader, resumed
from penstock.plan.node import RowMap


@frozen()
class Shard(RowMap):
    """Keep every `num_shards`-th element, from the element at `index` on."""

    keeps_order = True

    num_shards: int
    index: int

    @cached_property
    def length(self) -> int:
        if self.input.length < 0:
            return self.input.length
        return max(0, -(-(self.input.length - self.index) // self.num_shards))

    def rows_of(self, rows: Rows) -> Rows:
        return strided(rows, length=self.stride, input_stride=self.input.stride, start=self.index, step=self.num_shards)

    def flow(self, inputs: tuple[Open, ...], epoch: int, mark: Mark, allocate: Allocate) -> Flow:
        (source,) = inputs
        seen, at = resumed(mark, (0, None))
        with Reader(source, epoch, at) as reader:
            while (piece := reader.read(MOST_READ)) is not None:
                first = (self.index - seen) % self.num_shards
                kept = piece.select(np.arange(first, len(piece), self.num_shards))
                seen += len(piece)
                yield Piece(kept.chunk, kept.ids, [seen, reader.mark])

    def arguments(self) -> str:
        return f"{self.num_shards}, {self.index}"

"""Keep the first elements."""

from __future__ import annotations

from penstock.core.arrays import Allocate, Rows
from penstock.core.cached import cached_property
from penstock.core.frozen import frozen
from penstock.index.strided import strided
from penstock.plan.flow import AskedFlow, Mark, Open, Piece, Reader, resumed
from penstock.plan.node import RowMap, rows_within
from penstock.plan.traits import Traits
from penstock.plan.types import INFINITE, UNKNOWN


@frozen()
class Take(RowMap):
    """Keep the first `count` elements; all of them if `count` is -1."""

    keeps_order = True
    traits = Traits(ids="kept")

    count: int

    @cached_property
    def length(self) -> int:
        if self.count == -1 or self.input.length == UNKNOWN:
            return 0 if self.count == 0 else self.input.length
        return self.count if self.input.length == INFINITE else min(self.count, self.input.length)

    def rows_of(self, rows: Rows) -> Rows:
        rows = rows_within(rows, self.length, self.input)
        return strided(rows, length=self.stride, input_stride=self.input.stride)

    def flow(self, inputs: tuple[Open, ...], epoch: int, mark: Mark, allocate: Allocate) -> AskedFlow:
        wanted: int | None = None
        (source,) = inputs
        if self.count == -1:
            yield from source(epoch, mark)
            return
        taken, at = resumed(mark, (0, None))
        with Reader(source, epoch, at) as reader:
            while taken < self.count and (piece := reader.read(self.count - taken, wanted)) is not None:
                taken += len(piece)
                wanted = yield Piece(piece.chunk, piece.ids, [taken, reader.mark])

    def span(self) -> tuple[int, int | None] | None:
        return (0, self.count) if self.count > 0 else None

    def arguments(self) -> str:
        return str(self.count)

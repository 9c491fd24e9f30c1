"""Skip the first elements."""

from __future__ import annotations

from penstock.core.arrays import Allocate, Rows
from penstock.core.cached import cached_property
from penstock.core.frozen import frozen
from penstock.index.strided import strided
from penstock.plan.flow import MOST_READ, AskedFlow, Mark, Open, Piece, Reader
from penstock.plan.node import RowMap
from penstock.plan.traits import Traits


@frozen()
class Skip(RowMap):
    """Skip the first `count` elements; all of them if `count` is -1."""

    keeps_order = True
    traits = Traits(ids="kept")

    count: int

    @cached_property
    def length(self) -> int:
        if self.count == -1:
            return 0
        return self.input.length if self.input.length < 0 else max(self.input.length - self.count, 0)

    def rows_of(self, rows: Rows) -> Rows:
        return strided(rows, length=self.stride, input_stride=self.input.stride, start=self.count)

    def flow(self, inputs: tuple[Open, ...], epoch: int, mark: Mark, allocate: Allocate) -> AskedFlow:
        wanted: int | None = None
        (source,) = inputs
        if self.count == -1:
            return
        with Reader(source, epoch, mark) as reader:
            if mark is None:
                reader.skip(self.count)
            while (piece := reader.read(MOST_READ, wanted)) is not None:
                wanted = yield Piece(piece.chunk, piece.ids, reader.mark)

    def span(self) -> tuple[int, int | None] | None:
        return (self.count, None) if self.count > 0 else None

    def arguments(self) -> str:
        return str(self.count)

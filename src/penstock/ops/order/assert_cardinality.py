"""Declare the number of elements."""

from __future__ import annotations

from penstock.core.arrays import Allocate
from penstock.core.cached import cached_property
from penstock.core.errors import DataError
from penstock.core.frozen import frozen
from penstock.plan.flow import MOST_READ, Flow, Mark, Open, Piece, Reader, resumed
from penstock.plan.node import RowMap
from penstock.plan.traits import Traits
from penstock.plan.types import INFINITE


@frozen()
class AssertCardinality(RowMap):
    """Declare `count` elements per epoch where the plan does not know the number; iterating checks it."""

    traits = Traits(ids="kept")

    count: int

    @property
    def name(self) -> str:
        return "assert_cardinality"

    @cached_property
    def length(self) -> int:
        return self.count

    def flow(self, inputs: tuple[Open, ...], epoch: int, mark: Mark, allocate: Allocate) -> Flow:
        seen, at = resumed(mark, (0, None))
        with Reader(inputs[0], epoch, at) as reader:
            while (piece := reader.read(MOST_READ)) is not None:
                seen += len(piece)
                if INFINITE != self.count < seen:
                    raise DataError(f"{self.label()}: there are more than {self.count:,} elements")
                yield Piece(piece.chunk, piece.ids, [seen, reader.mark])
        if seen != self.count:
            raise DataError(f"{self.label()}: there are only {seen:,} elements")

    def arguments(self) -> str:
        return "INFINITE" if self.count == INFINITE else str(self.count)

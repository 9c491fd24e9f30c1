"""Restart the input at its end."""

from __future__ import annotations

from dataclasses import field

from penstock.core.arrays import Allocate, Rows
from penstock.core.cached import cached_property
from penstock.core.frozen import frozen
from penstock.index.strided import strided
from penstock.plan.flow import MOST_READ, AskedFlow, Mark, Open, Piece, Reader, resumed
from penstock.plan.node import RowMap
from penstock.plan.traits import Traits
from penstock.plan.types import INFINITE, UNKNOWN

ENDLESS_PASSES = 20
"""Bits that count the passes of an endless repeat within one epoch of a stream."""


@frozen()
class Repeat(RowMap):
    """Yield `count` epochs of the input one after another; repeat forever if `count` is -1.

    Row numbers continue through epochs, so repeating a finite input leaves rows unchanged. An endless repeat ends after
    `patience` passes without an element.
    """

    traits = Traits(ids="kept")

    count: int
    patience: int = field(default=1, repr=False, metadata={"runs": True})

    @cached_property
    def length(self) -> int:
        if self.count == 0 or self.input.length == 0:
            return 0
        if self.count == -1 or self.input.length == INFINITE:
            return INFINITE
        return UNKNOWN if self.input.length == UNKNOWN else self.input.length * self.count

    @property
    def _cycles(self) -> int:
        """The number of input epochs in one epoch of this node: for an endless repeat, as many as fit."""
        if self.length == INFINITE and self.input.length != INFINITE:
            return -(-self.stride // self.input.stride)
        return max(self.count, 1)

    @cached_property
    def epochs(self) -> int:
        return max(self.input.epochs // self._cycles, 1)

    def rows_of(self, rows: Rows) -> Rows:
        if self.length == INFINITE and self.input.length != INFINITE:
            return strided(rows, length=self.stride, input_stride=self._cycles * self.input.stride)
        return rows

    def flow(self, inputs: tuple[Open, ...], epoch: int, mark: Mark, allocate: Allocate) -> AskedFlow:
        wanted: int | None = None
        (source,) = inputs
        passes, at = resumed(mark, (0, None))
        empty_passes = 0
        first = epoch * self.count if self.count != -1 else epoch << ENDLESS_PASSES
        while passes < self.count or self.count == -1:
            empty = at is None
            with Reader(source, first + passes, at) as reader:
                while (piece := reader.read(MOST_READ, wanted)) is not None:
                    empty = False
                    wanted = yield Piece(piece.chunk, piece.ids, [passes, reader.mark])
            empty_passes = empty_passes + 1 if empty else 0
            if self.count == -1 and (empty_passes == self.patience or self.input.length == 0):
                return  # an input without elements: repeating it would never end
            passes, at = passes + 1, None

    def arguments(self) -> str:
        return "" if self.count == -1 else str(self.count)

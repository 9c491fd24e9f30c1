"""Leave out the elements at some positions."""

from __future__ import annotations

import numpy as np

from penstock.core.arrays import Allocate, Rows
from penstock.core.cached import cached_property
from penstock.core.frozen import frozen
from penstock.index.excluded import excluded, kept_before
from penstock.plan.flow import MOST_READ, Flow, Mark, Open, Piece, Reader, resumed
from penstock.plan.node import RowMap
from penstock.plan.traits import Traits

MOST_NAMED = 3


@frozen(eq=False)
class Exclude(RowMap):
    """Leave out the elements at `positions` of every epoch; `positions` are sorted and unique."""

    keeps_order = True
    traits = Traits(ids="kept")

    positions: np.ndarray

    @cached_property
    def length(self) -> int:
        return self.input.length if self.input.length < 0 else self.input.length - len(self.positions)

    @cached_property
    def _kept(self) -> Rows:
        return kept_before(self.positions)

    def rows_of(self, rows: Rows) -> Rows:
        return excluded(rows, kept=self._kept, stride=self.stride, input_stride=self.input.stride)

    def flow(self, inputs: tuple[Open, ...], epoch: int, mark: Mark, allocate: Allocate) -> Flow:
        seen, at = resumed(mark, (0, None))
        with Reader(inputs[0], epoch, at) as reader:
            while (piece := reader.read(MOST_READ)) is not None:
                low, high = np.searchsorted(self.positions, (seen, seen + len(piece)))
                kept = piece.select(np.delete(np.arange(len(piece)), self.positions[low:high] - seen))
                seen += len(piece)
                yield Piece(kept.chunk, kept.ids, [seen, reader.mark])

    def arguments(self) -> str:
        named = ", ".join(map(str, self.positions[:MOST_NAMED].tolist()))
        more = len(self.positions) - MOST_NAMED
        return f"{named} and {more:,} more" if more > 0 else named

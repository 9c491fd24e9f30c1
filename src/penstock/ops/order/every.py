"""Keep the elements of a Python slice."""

from __future__ import annotations

from penstock.core.arrays import Rows
from penstock.core.cached import cached_property
from penstock.core.frozen import frozen
from penstock.index.blocked import Blocks
from penstock.index.strided import strided
from penstock.plan.node import RowMap, rows_within


@frozen()
class Every(RowMap):
    """Keep `count` elements, `step` apart, from `start` on; a negative step runs backwards."""

    keeps_order = True

    start: int
    step: int
    count: int

    @property
    def name(self) -> str:
        return "slice"

    @cached_property
    def length(self) -> int:
        return self.count

    def rows_of(self, rows: Rows) -> Rows:
        rows = rows_within(rows, self.length, self.input)
        return strided(rows, length=self.stride, input_stride=self.input.stride, start=self.start, step=self.step)

    def blocks(self, inputs: tuple[Blocks | None, ...]) -> Blocks | None:
        return super().blocks(inputs) if self.step > 0 else None

    def span(self) -> tuple[int, int | None] | None:
        return (self.start, self.start + self.count) if self.step == 1 and self.count > 0 else None

    def arguments(self) -> str:
        return f"start={self.start}, step={self.step}, count={self.count}"

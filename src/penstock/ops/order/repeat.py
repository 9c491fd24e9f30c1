"""Begin again at the end."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from penstock.index.strided import strided
from penstock.plan.node import INFINITE, Passing, Rows


@dataclass(frozen=True)
class Repeat(Passing):
    """Yield `count` epochs of the input one after another; without end where `count` is -1.

    Rows count through epochs, so a repeat of a finite input leaves them as they are.
    """

    count: int

    @cached_property
    def length(self) -> int:
        if self.count == 0 or self.input.length == 0:
            return 0
        if self.count == -1 or self.input.length == INFINITE:
            return INFINITE
        return self.input.length * self.count

    def rows_of(self, rows: Rows) -> Rows:
        if self.length == INFINITE and self.input.length != INFINITE:
            # Epoch e of an endless repeat begins at an epoch of the input, past all that epoch e - 1 could use.
            cycles = -(-self.stride // self.input.stride)
            return strided(rows, length=self.stride, input_stride=cycles * self.input.stride)
        return rows

    def arguments(self) -> str:
        return "" if self.count == -1 else str(self.count)

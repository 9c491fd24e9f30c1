"""Leave out the first elements."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from penstock.index.strided import strided
from penstock.plan.node import INFINITE, Passing, Rows


@dataclass(frozen=True)
class Skip(Passing):
    """Leave out the first `count` elements; all of them where `count` is -1."""

    count: int

    @cached_property
    def length(self) -> int:
        if self.count == -1:
            return 0
        return INFINITE if self.input.length == INFINITE else max(self.input.length - self.count, 0)

    def rows_of(self, rows: Rows) -> Rows:
        return strided(rows, length=self.stride, input_stride=self.input.stride, start=self.count)

    def arguments(self) -> str:
        return str(self.count)

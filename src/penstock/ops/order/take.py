"""Keep the first elements."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from penstock.index.strided import strided
from penstock.plan.node import INFINITE, Passing, Rows, rows_within


@dataclass(frozen=True)
class Take(Passing):
    """Keep the first `count` elements; all of them where `count` is -1."""

    count: int

    @cached_property
    def length(self) -> int:
        if self.count == -1:
            return self.input.length
        return self.count if self.input.length == INFINITE else min(self.count, self.input.length)

    def rows_of(self, rows: Rows) -> Rows:
        rows = rows_within(rows, self.length, self.input)
        return strided(rows, length=self.stride, input_stride=self.input.stride)

    def arguments(self) -> str:
        return str(self.count)

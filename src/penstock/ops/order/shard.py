"""Keep one of several disjoint parts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from penstock.index.strided import strided
from penstock.plan.node import INFINITE, Passing, Rows


@dataclass(frozen=True)
class Shard(Passing):
    """Keep every `num_shards`-th element, beginning with the one at `index`."""

    num_shards: int
    index: int

    @cached_property
    def length(self) -> int:
        if self.input.length == INFINITE:
            return INFINITE
        return max(0, -(-(self.input.length - self.index) // self.num_shards))

    def rows_of(self, rows: Rows) -> Rows:
        return strided(rows, length=self.stride, input_stride=self.input.stride, start=self.index, step=self.num_shards)

    def arguments(self) -> str:
        return f"{self.num_shards}, {self.index}"

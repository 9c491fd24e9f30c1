"""Where the parts of one dataset begin and end, so that a part can tell whether another goes on where it ends."""

from __future__ import annotations

from typing import NamedTuple

from penstock.plan.node import Node, RowMap

MOST_CUTS = 64  # of one dataset: what is cut in more places is read in parts, not split


class Cuts:
    """The places at which parts of one dataset begin, and those at which parts of it end."""

    def __init__(self) -> None:
        self.begins: set[int] = set()
        self.ends: set[int] = set()

    def part(self, plan: Node) -> Part | None:
        """The part that `plan` keeps of its input, noted; `None` where it keeps no run of elements."""
        span = plan.span() if isinstance(plan, RowMap) else None
        if span is None:
            return None
        low, high = span
        if len(self.begins) + len(self.ends) < MOST_CUTS:
            self.begins.add(low)
            if high is not None:
                self.ends.add(high)
        return Part(self, low, high)


class Part(NamedTuple):
    """The elements from `low` up to `high` of a dataset; to its end where `high` is `None`."""

    cuts: Cuts
    low: int
    high: int | None = None

    @property
    def is_split(self) -> bool:
        """Whether another part ends where this one begins, or begins where it ends."""
        return self.low in self.cuts.ends or self.high in self.cuts.begins

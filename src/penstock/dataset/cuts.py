"""Boundaries of the parts of one dataset, which show whether one part continues where another ends."""

from __future__ import annotations

from typing import NamedTuple

from penstock.plan.node import Node, RowMap

MOST_CUTS = 64  # of one dataset: with more cuts, a dataset is being read in parts, not split


class Cuts:
    """The positions at which parts of one dataset begin, and those at which parts end."""

    def __init__(self) -> None:
        self.begins: set[int] = set()
        self.ends: set[int] = set()

    def part(self, plan: Node) -> CutPart | None:
        """Record and return the part that `plan` keeps of its input; `None` if it does not keep one run of elements."""
        span = plan.span() if isinstance(plan, RowMap) else None
        if span is None:
            return None
        low, high = span
        if len(self.begins) + len(self.ends) < MOST_CUTS:
            self.begins.add(low)
            if high is not None:
                self.ends.add(high)
        return CutPart(self, low, high)


class CutPart(NamedTuple):
    """The elements from `low` up to `high` of a dataset, or up to its end if `high` is `None`."""

    cuts: Cuts
    low: int
    high: int | None = None

    @property
    def is_split(self) -> bool:
        """Return whether another part ends where this one begins, or begins where this one ends."""
        return self.low in self.cuts.ends or self.high in self.cuts.begins

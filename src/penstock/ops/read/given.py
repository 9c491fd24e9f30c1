"""Stand for elements that are handed to a task."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from penstock.plan.flow import Spread
from penstock.plan.node import UNKNOWN, Allocate, Node, Spec


@dataclass(frozen=True)
class Given(Node):
    """Yield the elements of the piece that a task is given: what a stretch of elementwise work stands on."""

    elementwise = True

    @cached_property
    def indexed(self) -> bool:
        return False

    @cached_property
    def length(self) -> int:
        return UNKNOWN

    def spec(self) -> Spec | None:
        return None

    def spread(self, source: Spread, allocate: Allocate) -> Spread:
        return source

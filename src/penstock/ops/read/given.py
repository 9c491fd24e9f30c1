"""Stand for elements that are handed to a task."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.core.arrays import Allocate
from penstock.plan.flow import Spread
from penstock.plan.node import Streamed
from penstock.plan.types import Spec


@dataclass(frozen=True)
class Given(Streamed):
    """Yield the elements of the piece that a task is given: what a stretch of elementwise work stands on."""

    elementwise = True

    def spec(self) -> Spec | None:
        return None

    def spread(self, source: Spread, allocate: Allocate) -> Spread:
        return source

"""Represent the elements that a task receives."""

from __future__ import annotations

from penstock.core.arrays import Allocate
from penstock.core.frozen import frozen
from penstock.plan.flow import Spread
from penstock.plan.node import Streamed
from penstock.plan.types import Spec


@frozen()
class Given(Streamed):
    """Yield the elements of the piece that a task receives: the input of a stretch of elementwise work."""

    elementwise = True

    def spec(self) -> Spec | None:
        return None

    def spread(self, allocate: Allocate) -> Spread:
        return lambda piece: piece

"""A node whose spec was found by running it."""

from __future__ import annotations

from penstock.core.frozen import frozen
from penstock.plan.node import RowMap
from penstock.plan.types import Spec


@frozen()
class Described(RowMap):
    """Yield the elements of `input`, whose spec is `known` from running it."""

    keeps_order = True

    known: Spec

    def spec(self) -> Spec | None:
        return self.known

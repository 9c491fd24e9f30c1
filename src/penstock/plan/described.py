"""A node whose spec was found by running it."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.plan.node import RowMap
from penstock.plan.types import Spec


@dataclass(frozen=True)
class Described(RowMap):
    """Yield the elements of `input`, whose spec is `known` from running it."""

    keeps_order = True

    known: Spec

    def spec(self) -> Spec | None:
        return self.known

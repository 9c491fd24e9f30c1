"""Makes what comes of a unit of stream work: some rows, or some elements, on their way through one task."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from penstock.core.arrays import Allocate
from penstock.engine.advice import advising
from penstock.engine.compile import spreading
from penstock.engine.executors.remote import Shipment, spread_shipped
from penstock.engine.observer import Observer
from penstock.engine.parcel import Parcel
from penstock.engine.task import Meter, Spreaded, make_spread
from penstock.plan.flow import Piece
from penstock.plan.node import Node


class Unit(Parcel):
    """A piece under way, as the window sees it: one task's work."""

    __slots__ = ("given",)

    def __init__(self, given: Piece, nbytes: int) -> None:
        super().__init__(0, len(given), given.ids, 1)
        self.given = given
        self.nbytes = nbytes


class Spreader:
    """Runs a stretch of elementwise nodes, which stands on an indexed node or on what it is given."""

    def __init__(self, plan: Node, allocate: Allocate, observer: Observer) -> None:
        self.source = plan
        self._spread = spreading(plan, allocate, observer)
        self.advise = advising(plan)
        self._meter = Meter()

    def make(self, parcel: Parcel, piece: int) -> Spreaded:
        """Make the elements of a unit; called from any thread."""
        return make_spread(self._spread, cast("Unit", parcel).given, self.advise, parcel.soon, self._meter)

    def errand(self, shipment: Shipment, parcel: Parcel, piece: int) -> tuple[Callable[..., Any], Any, Any, Any]:
        """The same for another process."""
        return spread_shipped, shipment, cast("Unit", parcel).given, parcel.soon

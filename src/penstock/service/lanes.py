"""The runs under way in a service, and their end."""

from __future__ import annotations

import threading
from typing import Generic, Protocol, TypeVar

from penstock.engine.runs.run import Run


class ServiceLane(Protocol):
    """A run at the place of some consumers."""

    run: Run
    is_closed: bool


L = TypeVar("L", bound=ServiceLane)


class Lanes(Generic[L]):
    """The runs under way; `_changed` guards them, and tells those who wait."""

    def __init__(self) -> None:
        self.again = 0
        """The number of elements that were made before, and let go of."""
        self._changed = threading.Condition()
        self._lanes: list[L] = []

    def _end_lane(self, lane: L) -> None:
        lane.is_closed = True
        if lane in self._lanes:
            self._lanes.remove(lane)
        self._changed.notify_all()

    def close(self) -> None:
        """Stop all runs."""
        with self._changed:
            lanes = list(self._lanes)
            for lane in lanes:
                self._end_lane(lane)
        for lane in lanes:
            lane.run.close()

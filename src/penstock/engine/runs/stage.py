"""A stage: a stretch of the plan that tasks make, and what its loops share."""

from __future__ import annotations

from penstock.engine.runs.feeds import OpenFeed
from penstock.engine.runs.loop import Loop
from penstock.engine.runs.session import Session
from penstock.engine.tasks.gathering import Gathering, gathering_of
from penstock.engine.tasks.read_ahead import spacing
from penstock.engine.tasks.works import PieceWork, RowWork, Work
from penstock.ops.group.grouping import Grouping
from penstock.ops.group.unit import batching_of
from penstock.plan.flow import AskedFlow, Mark
from penstock.plan.node import Node

CHEAP_TO_COPY = 1 << 20  # bytes of a batch: a tenth of a millisecond


class Stage:
    """Makes items of `plan`, as far as one task can make them, out of the jobs of a feed.

    The plan stands on an indexed `base`, which may be the plan itself, or on the elements that `below` yields; if it is
    `live`, these may be long in coming. Items of the `top` stage are handed to the consumer as they are.
    """

    def __init__(
        self,
        plan: Node,
        base: Node | None,
        open_feed: OpenFeed,
        session: Session,
        below: Node | None = None,
        *,
        live: bool = False,
        top: bool = False,
    ) -> None:
        self.session = session
        self.plan = plan
        self.base = base
        self.below = plan if base is not None else below  # the node whose elements a task is given, or makes
        self.live = live
        self.top = top
        self.observer = session.observer.part()
        self.work: Work = (RowWork if top else PieceWork)(plan, session.allocate, self.observer)
        self.turns = session.turns
        self.batching = batching_of(plan) if top else None
        self.item_rows = self.batching.size if isinstance(self.batching, Grouping) else 1
        self.tuner = session.tuner(of_stream=not top)
        self.tuner.item_rows = self.item_rows
        self.failed_at = 0
        """The item that failed last."""
        self._open_feed = open_feed

    def open(self, epoch: int, mark: Mark = None) -> AskedFlow:
        """Yield the items of an epoch as pieces, from a mark on."""
        return Loop(self, self._open_feed(epoch, mark)).pieces()

    def gathering(self, item_bytes: int | None) -> Gathering | None:
        """Return the way to gather batches by a native thread, where that is possible and allowed.

        Large batches that the caller has memory for are written there by tasks, since a copy would take longer.
        """
        settings = self.session.settings
        allowed = self.top and settings.executor == "auto" and settings.workers is None and settings.depth is None
        if self.session.has_given_slots and (item_bytes or 0) > CHEAP_TO_COPY:
            return None
        if not allowed or self.session.observer.looks_at_elements:
            return None
        return gathering_of(self.plan, self.session.memory)

    def spacing(self) -> float:
        """Return how many items come of one block, if data is read in blocks."""
        return 0.0 if self.base is None else spacing(self.base, self.base.stride, self.item_rows)

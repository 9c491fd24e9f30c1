"""A stage: a stretch of the plan whose items tasks make, and the state that its loops share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.core.frozen import frozen
from penstock.engine import tasks
from penstock.engine.runs.feeds import OpenFeed
from penstock.engine.runs.loop import Loop
from penstock.engine.runs.scope import Scope
from penstock.engine.tasks.read_ahead import ReadAhead, fetched_bytes, spacing
from penstock.engine.tasks.slots import Slots
from penstock.engine.tasks.works import PieceWork, RowWork, Work
from penstock.engine.workers.native_thread import NativeThread, native_thread_for
from penstock.ops.group.batching import batching_of
from penstock.ops.group.grouping import Grouping
from penstock.plan.flow import AskedFlow, Mark, Open
from penstock.plan.node import Node

if TYPE_CHECKING:
    from penstock.engine.tasks.next_uses import NextUses

FETCHED = "fetched ahead"
"""The name of what was requested from remote stores and not read yet, among what a run holds."""
CHEAP_TO_COPY = 1 << 20  # bytes of a batch: a tenth of a millisecond


@frozen()
class Stretch:
    """Elementwise nodes that one task runs together, on rows of `base` or on pieces of `source`, which `below` makes.

    In a `live` stretch the user's code decides when pieces come. A stretch on rows takes every `step`-th row from
    `first` on: all rows, or those of one virtual stream.
    """

    plan: Node
    base: Node | None
    source: Open | None = None
    below: Node | None = None
    live: bool = False
    first: int = 0
    step: int = 1
    depth: int = 0  # of flows that read one another on one stack
    numbered_from: int = 0  # as observers number operations


class Stage:
    """A stretch of a plan that tasks run, which make its items from the jobs of a feed.

    The consumer receives the items of the `top` stage, whose stretch is an indexed plan, unchanged.
    """

    def __init__(self, stretch: Stretch, open_feed: OpenFeed, scope: Scope, *, top: bool = False) -> None:
        plan, base, numbered_from = stretch.plan, stretch.base, stretch.numbered_from
        self.scope = scope
        self.session = scope.session
        self.plan = plan
        self.base = base
        self.below = plan if base is not None else stretch.below  # the node whose elements a task receives or makes
        self.live = stretch.live
        self.top = top
        self.observer = observer = scope.observer
        self.tuner = scope.tuner(of_stream=not top)
        self.tuner.operation = plan.label()
        self.work: Work
        if top:
            fills_slots = scope.has_given_slots
            self.work = RowWork(plan, scope.allocate, observer, numbered_from, fills_slots=fills_slots)
        else:
            self.work = PieceWork(plan, scope.allocate, observer, numbered_from)
        self.tuner.meter.recorder = observer.recorder
        self.work.meter = self.tuner.meter  # one for all datasets of a kind, most of which have only a few tasks
        self.turns = scope.turns
        self.batching = batching_of(plan) if top else None
        self.item_rows = self.batching.size if isinstance(self.batching, Grouping) else 1
        self.tuner.item_rows = self.item_rows
        self.failed_at = 0
        """The number of the item that failed last."""
        self._open_feed = open_feed

    def open(self, epoch: int, mark: Mark = None) -> AskedFlow:
        """Yield the items of an epoch as pieces, from a mark on."""
        return Loop(self, self._open_feed(epoch, mark)).pieces()

    def slots(self) -> Slots | None:
        """Return the memory of batches made whole by tasks, which an epoch before may have shown to be of use."""
        if self.batching is None:
            return None
        return Slots(self.plan, self.scope.allocate_slot, self.tuner.slots)

    def native_thread(self, item_bytes: int | None) -> NativeThread | None:
        """Return workers that gather batches by a native thread, if possible and allowed.

        Large batches that the caller has memory for are written there by tasks, since a copy would take longer.
        """
        settings = self.scope.settings
        allowed = self.top and settings.begins_inline and not settings.hosted and settings.depth is None
        if self.scope.has_given_slots and (item_bytes or 0) > CHEAP_TO_COPY:
            return None
        found = native_thread_for(self.work, self.scope.memory, settings.cores) if allowed else None
        if found is not None:
            found.count = self.observer.counter(found.operations)
        return found

    def next_uses(self) -> NextUses | None:
        """Return the teller of the order in which remote objects are read; `None` if all data is local."""
        if self.base is None or not self.fetched_bytes():
            return None
        return tasks.next_uses.NextUses(self.plan, self.base, self.item_rows)

    def read_ahead(self) -> ReadAhead:
        """Return the chooser of the rows to announce."""
        fetched = self.fetched_bytes()
        if not fetched:
            return ReadAhead(size=self.item_rows, spacing=self.spacing)
        room = tasks.next_uses.FetchRoom(self.session.account(FETCHED, "ahead"))
        return ReadAhead(size=self.item_rows, spacing=self.spacing, fetched=fetched, room=room)

    def fetched_bytes(self) -> float:
        """Return the bytes of a row that come from a remote store, 0 if all data is local."""
        return 0.0 if self.base is None else fetched_bytes(self.base)

    def spacing(self) -> float:
        """Return the number of items per block, 0 if data is not read in blocks."""
        return 0.0 if self.base is None else spacing(self.base, self.base.stride, self.item_rows)

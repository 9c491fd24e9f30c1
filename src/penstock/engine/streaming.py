"""One pass over one epoch of a streamed plan: pieces pulled through it, here or by a pump, in the order of the plan."""

from __future__ import annotations

from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import replace
from time import perf_counter_ns
from typing import Any, NamedTuple, cast

import numpy as np

from penstock.core.errors import ClosedError, CursorError
from penstock.elements.ragged import Ragged
from penstock.elements.size import bytes_of
from penstock.elements.sparse import Sparse
from penstock.engine.cursors.cursor import Cursor
from penstock.engine.failures import named_failure, over
from penstock.engine.ledger import Made
from penstock.engine.legacy import Legacy
from penstock.engine.lifetime import watch_over
from penstock.engine.observer import Observer
from penstock.engine.opening import opened
from penstock.engine.pump import Pump
from penstock.engine.settings import Settings
from penstock.engine.task import Cost
from penstock.engine.tuning.tuner import LOOKS, THREAD_PAYS, Tuner
from penstock.engine.window import WHILE_WAITING
from penstock.engine.workshop import Workshop
from penstock.ops.group.grouping import Grouping
from penstock.plan.deferred import settled
from penstock.plan.flow import BEYOND, Flow, Mark, Piece, close
from penstock.plan.node import Node, Passing

AHEAD = 4  # pieces that a pump keeps ready, where nothing else is said


AGAIN = "next() of another iterator, once it has loaded this one's state_dict()"
"""How to make again what failed, and nothing but what its mark says comes before."""


class Place(NamedTuple):
    """Where a stream stands: `row` items were received, and of the elements after the mark `offset` are among them."""

    mark: Mark
    offset: int
    row: int


class StreamRun:
    """Makes the items of one epoch of a stream from a cursor on, and ends in the four ways that a `Run` does."""

    batch = None  # its batches are made by a node of the plan

    def __init__(self, plan: Node, settings: Settings, observer: Observer, cursor: Cursor, legacy: Legacy) -> None:
        self.settings = settings
        self.ended: str | None = None
        self.made = Made()
        self.unit = _unit(plan)
        self.plan = plan
        self._observer = observer
        self._legacy = legacy
        self._epoch = cursor.epoch
        self._made = cursor.row
        self._place = Place(cursor.mark, cursor.offset, cursor.row)  # before the piece that was handed out last
        self._next = self._place  # after it
        self._looks = self._looked_at = self._took = 0
        self._dearest = (0, 0)
        self._pump: Pump | None = None
        self._flow: Flow = iter(())
        self._shop = Workshop(settings, legacy, observer)
        self._is_begun = False  # by the first item that is asked for: an interrupt finds all that has begun by then
        watch_over(self)

    @property
    def tuner(self) -> Tuner:
        """That of the stage which took most."""
        return max(self._shop.tuners, key=lambda tuner: tuner.item_wall, default=Tuner(None))

    @property
    def spent(self) -> Cost:
        """What the tasks of all stages took."""
        return self._shop.spent

    @property
    def mode(self) -> str:
        """Where stages work."""
        return self._shop.mode

    @property
    def is_parallel(self) -> bool:
        """True if several threads make the elements, or would if every thread could call the functions."""
        return self.settings.workers != 1 and (self._shop.has_threads or self.settings.would_pay(self.tuner))

    @property
    def parcels_ahead(self) -> int:
        """Pieces made and not handed out yet."""
        return 0 if self._pump is None else len(self._pump)

    def place(self, row: int) -> tuple[Mark, int]:
        """The mark and the offset to go on with where the consumer has received items up to `row`."""
        if row == self._next.row:
            return settled(self._next.mark), self._next.offset
        return settled(self._place.mark), self._place.offset + row - self._place.row

    def parcel(self) -> tuple[int, list[Any]] | None:
        """The next items and the position of the first; `None` when the epoch is over."""
        if self.ended is not None:
            if self.ended == "exhausted":
                return None
            raise over(self.ended)
        try:
            if not self._is_begun:
                self._begin()
            items = self._items()
        except Exception as error:
            self._check_open()
            self.close("failed")
            named = named_failure(error, f"while making {self.unit} {self._made}", self._epoch, AGAIN)
            if named is error:
                raise
            raise named from error
        except BaseException:  # KeyboardInterrupt, SystemExit
            self.close("cancelled")
            raise
        if items is None:
            self._check_open()
            self.close("exhausted")
            return None
        low, self._made = self._made, self._made + len(items)
        return low, items

    def _check_open(self) -> None:
        """Raise a `ClosedError` where another thread has closed the run, whatever came of that here."""
        if self.ended is not None:
            raise ClosedError(WHILE_WAITING) from None

    def close(self, ended: str = "closed") -> None:
        """Stop at once: what waits is dropped, and a task asleep in a user's function is left to end by itself."""
        if self.ended is None:
            self.ended = ended
        self._shop.close()
        if self._pump is not None:
            self._pump.close()
            return
        with suppress(ValueError):  # it is at work in another thread, which the closed workshop wakes
            close(self._flow)

    def after_fork(self) -> None:
        """In a forked child, where no thread of the parent lives on: begin again after what was handed out, once asked.

        It is done inline where the executor was handed in: that has no workers here.
        """
        self._shop.after_fork()
        self._legacy.memory.after_fork()
        self._pump, self._flow = None, iter(())
        self._is_begun = False
        if isinstance(self.settings.executor, Executor):
            self.settings = replace(self.settings, executor="inline")

    def _begin(self) -> None:
        self._is_begun = True
        place, settings = self._next._replace(mark=settled(self._next.mark)), self.settings
        self._shop = Workshop(settings, self._legacy, self._observer)
        self._flow = opened(self.plan, self._shop)(self._epoch, place.mark)
        self._left_out = place.offset
        self._before = place.mark
        self._pump = None
        asked_for = settings.workers is not None or settings.depth is not None
        if settings.executor not in ("auto", "inline") or (settings.executor == "auto" and asked_for):
            self._start_pump()

    def _items(self) -> list[Any] | None:
        self._place = self._next
        while (piece := self._piece()) is not None:
            left_out = min(self._left_out, len(piece))
            self._left_out -= left_out
            if left_out < len(piece):
                items = piece.chunk.elements()[left_out:]
                self._place = Place(self._before, left_out, self._made)
                self._next = Place(piece.after, 0, self._made + len(items))
                self._before = piece.after
                self._count(items)
                return items
            self._before = piece.after
            if not self._left_out:
                self._place = self._next = Place(self._before, 0, self._made)
        if self._left_out:
            raise CursorError(BEYOND)
        return None

    def _piece(self) -> Piece | None:
        if self._pump is not None:
            return self._pump.take()
        began = perf_counter_ns()
        piece = next(self._flow, None)
        if self.settings.executor == "auto" and piece is not None:
            self._look(perf_counter_ns() - began, len(piece))
        return piece

    def _look(self, took: int, items: int) -> None:
        """Start a pump once an item costs more than handing it to another thread.

        The first look does not count, nor the dearest: a stage may just have made what many items to come consist of.
        """
        self._looks += 1
        if self._looks > 1:
            self._looked_at += items
            self._took += took
            self._dearest = max(self._dearest, (took, items))
        dearest, its_items = self._dearest
        if self._looks > LOOKS and self._took - dearest > THREAD_PAYS * max(self._looked_at - its_items, 1):
            self._start_pump()

    def _start_pump(self) -> None:
        depth = self.settings.depth or AHEAD
        self._pump = Pump(self._flow, depth)
        if self.ended is not None:  # closed meanwhile, from another thread
            self._pump.close()

    def _count(self, items: list[Any]) -> None:
        if not self.made.items:
            self._item_bytes = bytes_of(items[0])
        self.made.items += len(items)
        self.made.rows += sum(map(_rows_in, items)) if self.unit == "batch" else len(items)
        self.made.nbytes += len(items) * self._item_bytes


def _unit(plan: Node) -> str:
    while isinstance(plan, Passing) or plan.within:
        plan = plan.input if isinstance(plan, Passing) else plan.within[0]
    return "batch" if isinstance(plan, Grouping) else "element"


def _rows_in(batch: Any) -> int:
    """How many elements a batch holds, padding too: the rows of its first leaf."""
    while isinstance(batch, dict | list | tuple) and batch:
        batch = next(iter(cast("dict[Any, Any]", batch).values() if isinstance(batch, dict) else batch))
    return batch.shape[0] or 0 if isinstance(batch, np.ndarray | Ragged | Sparse) and batch.shape else 1

"""The parcels under way, and the consumer's wait for the next: on a condition, never on a clock."""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING, Any

from penstock.core.errors import ClosedError
from penstock.engine.parcel import Parcel, Result

if TYPE_CHECKING:
    from concurrent.futures import Future


WHILE_WAITING = "this iterator was closed while it waited for its next item"


class Window:
    """Parcels in the order they were begun; `pop` hands out the oldest, or where not `ordered` the first done."""

    def __init__(self, *, ordered: bool) -> None:
        self._ordered = ordered
        self._parcels: deque[Parcel] = deque()
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._awaited = False  # whether somebody waits for the next parcel
        self._closed = False
        self.tasks = 0
        """Tasks of all parcels under way."""
        self.items = 0
        """Items of all parcels under way."""
        self.nbytes = 0
        """Bytes of all parcels under way."""

    def __len__(self) -> int:
        return len(self._parcels)

    @property
    def unfinished(self) -> int:
        """Parcels some of whose tasks have not ended."""
        return sum(parcel.missing > 0 for parcel in self._parcels)

    @property
    def waits(self) -> bool:
        """Whether the next parcel is not there yet."""
        return self._next_done() is None

    def push(self, parcel: Parcel) -> None:
        """Add a parcel whose tasks are about to begin."""
        with self._lock:  # a stage's feeder adds some while others are taken out
            self._parcels.append(parcel)
            self.tasks += len(parcel.rows)
            self.items += parcel.items
            self.nbytes += parcel.nbytes

    def _forget_all(self) -> list[Parcel]:
        dropped = list(self._parcels)
        self._parcels.clear()
        self.tasks = self.items = self.nbytes = 0
        return dropped

    def filled(self, parcel: Parcel, piece: int, result: Result) -> None:
        """Take in what a task ended with; called from any thread."""
        with self._lock:
            parcel.fill(piece, result)
            if parcel.missing == 0:
                parcel.futures.clear()  # they hold the parcel: a cycle would keep its memory until it is collected
                if self._awaited:
                    self._changed.notify_all()

    def pop(self) -> Parcel:
        """Wait for the next parcel and take it out; a `ClosedError` if the window is closed meanwhile."""
        with self._lock:
            while not self._closed:
                parcel = self._next_done()
                if parcel is not None:
                    return self._take(parcel)
                self._awaited = True
                try:
                    self._changed.wait()
                finally:
                    self._awaited = False
        raise ClosedError(WHILE_WAITING)

    def pop_behind(self, before: Parcel) -> Parcel | None:
        """Take out the parcel that comes right after `before`, which was taken out last, if it is made already.

        `None` also where its making failed: that is found when it is waited for.
        """
        with self._lock:
            if not self._ordered or not self._parcels:
                return None
            oldest = self._parcels[0]
            if oldest.missing or oldest.low != before.high or oldest.fails:
                return None
            return self._take(oldest)

    def _take(self, parcel: Parcel) -> Parcel:
        if parcel is self._parcels[0]:
            self._parcels.popleft()
        else:
            self._parcels.remove(parcel)
        self.tasks -= len(parcel.rows)
        self.items -= parcel.items
        self.nbytes -= parcel.nbytes
        return parcel

    def _next_done(self) -> Parcel | None:
        if self._ordered:
            oldest = self._parcels[0]
            return oldest if oldest.missing == 0 else None
        return next((parcel for parcel in self._parcels if parcel.missing == 0), None)

    def close(self) -> list[Parcel]:
        """Drop every parcel, cancel tasks that have not begun, and wake whoever waits."""
        with self._lock:
            self._closed = True
            dropped = self._forget_all()
            self._changed.notify_all()
        futures: list[Future[Any]] = [future for parcel in dropped for future in parcel.futures]
        for future in futures:
            future.cancel()
        return dropped

    def after_fork(self) -> list[Parcel]:
        """In a forked child: forget every parcel, without the lock, which a thread of the parent may have held."""
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._awaited = False
        return self._forget_all()

"""The pieces that a process makes before its consumer, in another process, asks for them."""

from __future__ import annotations

import threading
from collections import deque

from penstock.core.budget import Account, Budget, unlimited
from penstock.elements.footprint import memory_of
from penstock.engine.tuning.settings import Settings
from penstock.plan.flow import Piece

PIECES_AHEAD = 4  # beyond the one that the consumer has asked for, unless the depth of the window was given


class AheadOfConsumer:
    """The pieces sent that the consumer has not asked for yet, and the one that it asked for last.

    Another one is made while there is room for it: in the window of the run, and in its budget for one as large as the
    largest so far. One that was asked for is always made.
    """

    def __init__(self, settings: Settings) -> None:
        self._depth = settings.depth
        self._on_request = settings.on_request
        self._account: Account = unlimited()
        self._pieces: deque[tuple[int, int]] = deque()  # items and bytes of each
        self._sent = self._asked = 0
        self._largest = 0
        self._closed = False
        self._changed = threading.Condition()

    def hold(self, budget: Budget) -> None:
        """Count the bytes in a budget."""
        self._account = budget.account("elements made ahead", "ahead")

    def ask(self, number: int) -> None:
        """Note that the consumer asks for a piece, the first of which is 1, and has finished with those before."""
        with self._changed:
            self._asked = number
            while len(self._pieces) > max(self._sent - number + 1, 0):
                self._account.add(-self._pieces.popleft()[1])
            self._changed.notify_all()

    def add(self, piece: Piece) -> int:
        """Count a piece that is about to be sent; return its number."""
        nbytes = memory_of(piece.chunk)
        with self._changed:
            self._sent += 1
            self._largest = max(self._largest, nbytes)
            self._pieces.append((len(piece), nbytes))
            self._account.add(nbytes)
            return self._sent

    def awaited(self) -> int:
        """Return the number of the piece that the consumer waits for; 0 if all it has asked for was sent."""
        with self._changed:
            return self._asked if self._asked > self._sent else 0

    def waited_for_room(self) -> bool:
        """Wait until another piece may be made; return false once the consumer has gone."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._has_room())
            return not self._closed

    def _has_room(self) -> bool:
        ahead = self._sent - self._asked
        if ahead < 0:
            return True
        if self._on_request or self._account.left < self._largest:
            return False
        if self._depth is None:
            return ahead < PIECES_AHEAD
        waiting = [items for items, _ in self._pieces][-ahead:] if ahead else []
        return not waiting or sum(waiting) + waiting[-1] <= self._depth

    def close(self) -> range:
        """Make no more; return the numbers of the pieces that the consumer has not asked for."""
        with self._changed:
            self._closed = True
            self._account.close()
            self._changed.notify_all()
            return range(self._asked + 1, self._sent + 1)

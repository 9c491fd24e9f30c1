"""Runs the sequential part of a stream in a thread of its own, so that it overlaps with the consumer's step."""

from __future__ import annotations

import threading
from collections import deque

from penstock.core.errors import ClosedError
from penstock.engine.lifetime import WORKER
from penstock.engine.window import WHILE_WAITING
from penstock.plan.flow import Flow, Piece, close


class Pump:
    """Takes pieces from a flow, up to `depth` elements ahead of whoever takes them from here, or one piece.

    The flow is not asked for more than that. What it has made can be taken at once.
    """

    def __init__(self, flow: Flow, depth: int) -> None:
        self._depth = depth
        self._pieces: deque[Piece] = deque()
        self._elements = 0
        self._last = 1  # elements of the last piece that had some
        self._changed = threading.Condition()
        self._closed = False
        self._ended = False
        self._failure: BaseException | None = None
        threading.Thread(target=self._work, args=(flow,), name=WORKER, daemon=True).start()

    def __len__(self) -> int:
        return len(self._pieces)

    def take(self) -> Piece | None:
        """Wait for the next piece; `None` at the end. What the flow raised is raised after the pieces before it."""
        with self._changed:
            while not (self._pieces or self._ended or self._closed):
                self._changed.wait()
            if self._closed:
                raise ClosedError(WHILE_WAITING)
            if not self._pieces:
                if self._failure is not None:
                    raise self._failure
                return None
            piece = self._pieces.popleft()
            self._elements -= len(piece)
            self._changed.notify_all()
            return piece

    def close(self) -> None:
        """Stop: what is made ahead is dropped, and whoever waits is woken."""
        with self._changed:
            self._closed = True
            self._pieces.clear()
            self._changed.notify_all()

    def _work(self, flow: Flow) -> None:
        failure: BaseException | None = None
        try:
            while self._waited_for_room() and (piece := next(flow, None)) is not None:
                self._hand_over(piece)
            close(flow)
        except BaseException as error:  # noqa: BLE001 - raised where the pieces are taken
            failure = error
        with self._changed:
            self._ended, self._failure = True, failure
            self._changed.notify_all()

    def _waited_for_room(self) -> bool:
        """Return whether to ask for another piece, once there is room for one like the last."""
        with self._changed:
            while self._elements and self._elements + self._last > self._depth and not self._closed:
                self._changed.wait()
            return not self._closed

    def _hand_over(self, piece: Piece) -> None:
        with self._changed:
            if self._closed:
                return
            self._pieces.append(piece)
            self._elements += len(piece)
            self._last = len(piece) or self._last
            self._changed.notify_all()

"""Pieces of a stream, prepared for several consumers: each is made once while it is kept."""

from __future__ import annotations

import json
from collections import deque
from typing import NamedTuple, TypeAlias

from penstock.elements.footprint import memory_of
from penstock.engine.cursors.cursor import Cursor
from penstock.engine.runs.run import Run
from penstock.engine.runs.scope import CarryOver
from penstock.engine.tasks.observer import Unobserved
from penstock.engine.tuning.settings import settings_of
from penstock.engine.workers.lifetime import worker_thread
from penstock.memory.pool import Memory
from penstock.plan.deferred import settled
from penstock.plan.flow import Mark, Piece
from penstock.plan.node import Node
from penstock.service.lanes import Lanes
from penstock.service.made import MadeKeys
from penstock.service.rows import KEPT_PART, LANE_AHEAD, MOST_LANES, ROW_BYTES, lane_settings

PieceKey: TypeAlias = tuple[int, str]
"""The epoch of a piece, and the mark before it as JSON."""


class KeptPiece(NamedTuple):
    """A piece with the lane that has made it and its number there; the end of an epoch is `None`."""

    piece: Piece | None
    lane: PieceLane
    number: int


class PieceLane:
    """A run that makes consecutive pieces, the next of which begins `at` a mark."""

    def __init__(self, run: Run, at: PieceKey) -> None:
        self.run = run
        self.at = at
        self.made = 0  # pieces
        self.wanted = 0  # pieces, in all
        self.waiting = 0  # consumers
        self.used = 0
        self.is_closed = False
        self.error: BaseException | None = None


class PreparedPieces(Lanes[PieceLane]):
    """The pieces of a streamed plan, made by a few runs from the marks where consumers are."""

    def __init__(self, plan: Node, run: Node, memory: Memory | None = None, *, spares_process: bool = False) -> None:
        """Prepare pieces of `plan`, as it is run by `run`, in this memory as far as it can hold them."""
        super().__init__()
        self._plan = run
        self._settings = lane_settings(plan, spares_process=spares_process)
        self._carry_over = CarryOver(memory)
        self._most = settings_of(plan).memory_budget // KEPT_PART
        self._kept: dict[PieceKey, KeptPiece] = {}
        self._order: deque[tuple[PieceKey, int]] = deque()  # with bytes, the oldest first
        self._nbytes = 0
        self._waiting: dict[PieceKey, list[KeptPiece]] = {}  # a list for each key that somebody waits for
        self._made_before = MadeKeys()
        self._requests = 0

    def after(self, epoch: int, mark: Mark, careful: bool = False) -> Piece | None:
        """Return the piece that begins at a mark; `None` at the end of the epoch.

        The error that ends a stream is raised for every consumer that comes to it, each time by a new run.
        """
        key = epoch, json.dumps(mark)
        with self._changed:
            self._requests += 1
            kept = self._kept.get(key)
            while kept is None:
                lane = next((each for each in self._lanes if each.at == key), None) or self._begun(key, mark)
                lane.used, lane.wanted = self._requests, max(lane.wanted, lane.made + 1)
                lane.waiting += 1
                made = self._waiting.setdefault(key, [])
                self._changed.notify_all()
                try:
                    self._changed.wait_for(lambda lane=lane: lane.is_closed or lane.at != key)
                finally:
                    lane.waiting -= 1
                if lane.error is not None and lane.at == key:
                    raise lane.error
                kept = made[0] if made else self._kept.get(key)
            kept.lane.used = self._requests
            kept.lane.wanted = max(kept.lane.wanted, kept.number + (1 if careful else self._pieces_ahead()))
            self._changed.notify_all()
            return kept.piece

    def _begun(self, key: PieceKey, mark: Mark) -> PieceLane:
        idle = [lane for lane in self._lanes if not lane.waiting]
        if len(self._lanes) >= MOST_LANES and idle:
            self._end_lane(min(idle, key=lambda lane: lane.used))
        run = Run(self._plan, self._settings, Unobserved(), Cursor(0, key[0], 0, mark=mark), self._carry_over)
        lane = PieceLane(run, key)
        self._lanes.append(lane)
        worker_thread(self._run, lane).start()
        return lane

    def _run(self, lane: PieceLane) -> None:
        """Make the pieces of a lane, up to the mark where another lane has gone on."""
        try:
            lane.run.begin()
            while self._waited_for_turn(lane):
                piece = lane.run.hand_over()
                while piece is not None and not len(piece):  # its mark says nothing that the next one does not
                    if lane.is_closed:
                        return
                    piece = lane.run.hand_over()
                with self._changed:
                    self._keep(lane, piece)
                if piece is None:
                    break
        except BaseException as error:  # noqa: BLE001 - those who wait for the piece raise it
            lane.error = error
        finally:
            with self._changed:
                self._end_lane(lane)
            lane.run.close()

    def _waited_for_turn(self, lane: PieceLane) -> bool:
        with self._changed:
            self._changed.wait_for(lambda: lane.is_closed or lane.made < lane.wanted)
            return not lane.is_closed and lane.at not in self._kept

    def _keep(self, lane: PieceLane, piece: Piece | None) -> None:
        """Keep a piece until others need its memory, the oldest first; who waits for it has it at once."""
        lane.made += 1
        key, nbytes = lane.at, ROW_BYTES
        if piece is not None:
            after = settled(piece.after)
            piece = Piece(piece.chunk, piece.ids, after)
            lane.at = key[0], json.dumps(after)
            nbytes += memory_of(piece.chunk) + piece.ids.nbytes
        else:
            lane.at = -1, ""
        if key not in self._kept:
            self.again += len(piece) if self._made_before.add(key) and piece is not None else 0
            self._order.append((key, nbytes))
            self._nbytes += nbytes
        self._kept[key] = KeptPiece(piece, lane, lane.made)
        self._waiting.pop(key, []).append(self._kept[key])
        while self._nbytes > self._most and len(self._order) > 1:
            old, freed = self._order.popleft()
            self._nbytes -= freed
            del self._kept[old]
        self._changed.notify_all()

    def _pieces_ahead(self) -> int:
        """Return how many pieces a lane makes before anybody asks for them: no more than the lanes can all keep."""
        fit = self._most * len(self._order) // max(MOST_LANES * self._nbytes, 1)
        return min(LANE_AHEAD, max(fit, 1))

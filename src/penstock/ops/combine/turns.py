"""Take turns among streams that are opened separately."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import field
from itertools import takewhile

import numpy as np

from penstock.core.arrays import Allocate, Rows
from penstock.core.cached import cached_property
from penstock.core.errors import CursorError
from penstock.core.frozen import frozen
from penstock.plan.flow import Flow, Mark, Open, Piece, Reader, empty_piece, join_pieces, resumed
from penstock.plan.ids import scatter
from penstock.plan.node import Node
from penstock.plan.types import INFINITE, UNKNOWN, Spec


class Lane:
    """One stream of a rotation: its number, how many of its elements were yielded, and whether the stream has ended."""

    def __init__(self, number: int, source: Open, epoch: int, mark: Mark) -> None:
        at, self.given, ended = resumed(mark, (None, 0, 0))
        self.number = number
        self.reader = None if ended else Reader(source, epoch, at)

    @property
    def at_hand(self) -> int:
        """The number of elements that are ready."""
        return 0 if self.reader is None else self.reader.at_hand

    @property
    def mark(self) -> Mark:
        """The position of the next element, the number of elements before it, and whether the stream has ended."""
        return [None, self.given, 1] if self.reader is None else [self.reader.mark, self.given, 0]

    def read(self, count: int) -> Piece:
        """Return `count` of the ready elements."""
        piece = None if self.reader is None else self.reader.read(count)
        if piece is None or len(piece) < count:
            raise RuntimeError(f"stream {self.number} has fewer elements than it declared")
        self.given += count
        return piece

    def is_over(self) -> bool:
        """Return True if no element is left; make some if none are ready."""
        if self.reader is not None and not self.reader.ready():
            self.close()
            self.reader = None
        return self.reader is None

    def close(self) -> None:
        """Stop the stream."""
        if self.reader is not None:
            self.reader.close()


@frozen()
class Turns(Node):
    """Yield one element of each of `plans` in turn; skip a plan once it has ended, or end at its turn if it `stops`.

    The plans are not inputs: each is opened separately, all in the same session. Unless ids are `keyed` by the rows
    that elements are made from, ids repeat from plan to plan, and the `numbers` of the plans distinguish them. The mark
    holds the current turn and, for each plan, its position, how many elements it yielded, and 1 once it has ended.
    """

    plans: tuple[Node, ...]
    numbers: tuple[int, ...]
    streams: int
    keyed: bool
    stops: bool = field(default=False, metadata={"runs": True})

    @property
    def subplans(self) -> tuple[Node, ...]:
        return self.plans

    @property
    def name(self) -> str:
        return "shard"

    @cached_property
    def indexed(self) -> bool:
        return False

    @cached_property
    def length(self) -> int:
        lengths = [plan.length for plan in self.plans]
        if UNKNOWN in lengths:
            return UNKNOWN
        return INFINITE if INFINITE in lengths else sum(lengths)

    def spec(self) -> Spec | None:
        return self.plans[0].spec()

    def flow(self, inputs: tuple[Open, ...], epoch: int, mark: Mark, allocate: Allocate) -> Flow:
        turn, saved = resumed(mark, (0, [None] * len(inputs)))
        if turn >= len(inputs):
            raise CursorError(f"the saved state's mark is at turn {turn} of {len(inputs)} streams")
        with ExitStack() as stack:
            lanes = [
                Lane(number, source, epoch, at) for number, source, at in zip(self.numbers, inputs, saved, strict=True)
            ]
            stack.callback(lambda: [lane.close() for lane in lanes])
            while any(lane.reader is not None for lane in lanes):
                piece = None
                if lanes[turn].is_over():  # checks the mark before the first element
                    if self.stops:
                        return
                    turn = (turn + 1) % len(lanes)
                else:
                    piece, turn = self._rounds(lanes, turn)
                mark = [turn, [lane.mark for lane in lanes]]
                yield empty_piece(mark) if piece is None else Piece(piece.chunk, piece.ids, mark)

    def _rounds(self, lanes: Sequence[Lane], turn: int) -> tuple[Piece, int]:
        """Return as many whole rounds as all lanes have ready, or the ready part of one; and the turn after them."""
        places = [place % len(lanes) for place in range(turn, turn + len(lanes))]
        live = [place for place in places if lanes[place].reader is not None]
        ready = list(takewhile(lambda place: lanes[place].at_hand, live))
        rounds = 1
        if len(ready) == len(live):
            rounds = min(lanes[place].at_hand for place in ready)
        else:
            turn = live[len(ready)]
        parts = [self._part(lanes[place], rounds) for place in ready]
        if rounds == 1 or len(parts) == 1:
            return join_pieces(parts), turn
        # place[i]: position of element i of the rounds among the parts end to end
        place = np.arange(len(parts) * rounds).reshape(len(parts), rounds).T
        return join_pieces(parts).select(place.ravel()), turn

    def _part(self, lane: Lane, count: int) -> Piece:
        piece = lane.read(count)
        return Piece(piece.chunk, self._ids(lane.number, piece.ids))

    def _ids(self, number: int, ids: Rows) -> Rows:
        return ids if self.keyed else scatter(ids) + number

    def arguments(self) -> str:
        return f"{len(self.plans)} of {self.streams} streams"

"""Take turns among what several elements stand for."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass

import numpy as np

from penstock.ops.combine.inner import OpenPlan, Unfolding
from penstock.plan.flow import Flow, Mark, Open, Piece, Reader, child_ids


class Slot:
    """One of those that take turns: the element it stands for, where that is, and how much of it was given."""

    __slots__ = ("given", "here", "holder", "reader")

    def __init__(self, holder: Piece, here: Mark, given: int, reader: Reader) -> None:
        self.holder = holder
        self.here = here
        self.given = given
        self.reader = reader

    @property
    def mark(self) -> Mark:
        """What to open the slot again with."""
        return [self.here, self.given, self.reader.mark]


@dataclass(frozen=True)
class Interleave(Unfolding):
    """Yield `block_length` elements of what each of `cycle_length` elements stands for, in turn.

    Where one comes to its end, the next element of the input takes its place when it is its turn again. The mark has
    that of the input, and of each slot its element's and the place within.
    """

    cycle_length: int = 1
    block_length: int = 1

    def unfold(self, source: Open, epoch: int, mark: Mark, open_plan: OpenPlan) -> Flow:
        at, turn, used, saved = mark or (None, 0, 0, [None] * self.cycle_length)
        slots = [self._reopened(source, epoch, each, open_plan) for each in saved]
        with ExitStack() as stack:
            stack.callback(lambda: [slot.reader.close() for slot in slots if slot is not None])
            reader = stack.enter_context(Reader(source, epoch, at))
            while True:
                slot = slots[turn]
                if slot is None:
                    if not reader.ready() and not any(slots):
                        return
                    slots[turn] = slot = self._next(reader, open_plan)
                piece = None if slot is None else slot.reader.read(self.block_length - used)
                if slot is None or piece is None:
                    slots[turn] = None
                    turn, used = (turn + 1) % self.cycle_length, 0
                    continue
                used += len(piece)
                if used == self.block_length:
                    turn, used = (turn + 1) % self.cycle_length, 0
                ids = child_ids(slot.holder.ids, np.array([len(piece)]), first=slot.given)
                slot.given += len(piece)
                yield Piece(piece.chunk, ids, [reader.mark, turn, used, [each and each.mark for each in slots]])

    def _next(self, reader: Reader, open_plan: OpenPlan) -> Slot | None:
        """A slot of the input's next element, if there is one."""
        if not reader.ready():
            return None
        here, holder = reader.mark, reader.read(1)
        return None if holder is None else Slot(holder, here, 0, self.elements_of(holder, None, open_plan))

    def _reopened(self, source: Open, epoch: int, saved: Mark, open_plan: OpenPlan) -> Slot | None:
        if saved is None:
            return None
        here, given, mark = saved
        with Reader(source, epoch, here) as reader:
            holder = reader.read(1)
        return None if holder is None else Slot(holder, here, given, self.elements_of(holder, mark, open_plan))

    def arguments(self) -> str:
        return f"cycle_length={self.cycle_length}, block_length={self.block_length}"

"""Take turns among what several elements stand for."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from typing import cast

import numpy as np

from penstock.core.errors import CursorError
from penstock.elements.chunk import concat
from penstock.ops.combine.inner import OpenWithin, Unfolding
from penstock.plan.flow import Flow, Mark, Open, Piece, Reader, first_child_id, resumed
from penstock.plan.node import INFINITE, UNKNOWN


class Slot:
    """One of those that take turns: the place of the element it stands for, and how much of that was given.

    `ids` is the id of the first of its elements; those of the others follow.
    """

    __slots__ = ("given", "here", "ids", "reader")

    def __init__(self, holder: Piece, here: Mark, given: int, reader: Reader) -> None:
        self.ids = first_child_id(int(holder.ids[0]))
        self.here = here
        self.given = given
        self.reader = reader

    @property
    def mark(self) -> Mark:
        """What to open the slot again with."""
        return [self.here, self.given, self.reader.mark]


def _marks(slots: list[Slot | None]) -> list[Mark]:
    return [slot and slot.mark for slot in slots]


@dataclass(frozen=True)
class Interleave(Unfolding):
    """Yield `block_length` elements of what each of `cycle_length` elements stands for, in turn.

    Where one comes to its end, the next element of the input takes its place when it is its turn again. The mark has
    that of the input, and of each slot its element's and the place within.
    """

    cycle_length: int = 1
    block_length: int = 1

    @cached_property
    def length(self) -> int:
        return INFINITE if self.input.length == INFINITE else UNKNOWN

    def unfold(self, source: Open, epoch: int, mark: Mark, open_within: OpenWithin) -> Flow:
        at, turn, used, saved = resumed(mark, (None, 0, 0, [None] * self.cycle_length))
        if turn >= self.cycle_length or used >= self.block_length:
            raise CursorError(
                f"the saved state's mark is at place {used} of block {turn}, which {self.label()} has not"
            )
        slots = [self._reopened(source, epoch, each, open_within) for each in saved]
        with ExitStack() as stack:
            stack.callback(lambda: [slot.reader.close() for slot in slots if slot is not None])
            reader = stack.enter_context(Reader(source, epoch, at))
            while True:
                if used == 0 and (piece := self._rounds([*slots[turn:], *slots[:turn]])) is not None:
                    yield Piece(piece.chunk, piece.ids, [reader.mark, turn, 0, _marks(slots)])
                    continue
                slot = slots[turn]
                if slot is None:
                    if not reader.ready() and not any(slots):
                        return
                    slots[turn] = slot = self._next(reader, open_within)
                piece = None if slot is None else slot.reader.read(self.block_length - used)
                if slot is None or piece is None:
                    slots[turn] = None
                    turn, used = (turn + 1) % self.cycle_length, 0
                    continue
                used += len(piece)
                if used == self.block_length:
                    turn, used = (turn + 1) % self.cycle_length, 0
                begin = slot.ids + slot.given
                ids = np.arange(begin, begin + len(piece), dtype=np.int64)
                slot.given += len(piece)
                yield Piece(piece.chunk, ids, [reader.mark, turn, used, _marks(slots)])

    def _rounds(self, slots: list[Slot | None]) -> Piece | None:
        """As many whole rounds as all slots have at hand, in one go; `None` where some slot has not even a block."""
        opened = [slot for slot in slots if slot is not None]
        if len(opened) < len(slots):
            return None
        rounds = min(slot.reader.at_hand for slot in opened) // self.block_length
        if rounds == 0:
            return None
        count = rounds * self.block_length
        chunk = concat([cast("Piece", slot.reader.read(count)).chunk for slot in opened])
        # where each element of a slot stands among its own, in the order of the rounds: (rounds, 1, block_length)
        within = np.arange(count).reshape(rounds, 1, self.block_length)
        starts = count * np.arange(len(opened)).reshape(-1, 1)  # of each slot's elements among all: (slots, 1)
        ids = np.array([slot.ids + slot.given for slot in opened], np.int64).reshape(-1, 1) + within
        for slot in opened:
            slot.given += count
        return Piece(chunk.select((starts + within).ravel()), ids.ravel())

    def _next(self, reader: Reader, open_within: OpenWithin) -> Slot | None:
        """A slot of the input's next element, if there is one."""
        if not reader.ready():
            return None
        here, holder = reader.mark, reader.read(1)
        return None if holder is None else Slot(holder, here, 0, self.elements_of(holder, None, open_within))

    def _reopened(self, source: Open, epoch: int, saved: Mark, open_within: OpenWithin) -> Slot | None:
        if saved is None:
            return None
        here, given, mark = resumed(saved, (None, 0, None))
        with Reader(source, epoch, here) as reader:
            holder = reader.read(1)
        return None if holder is None else Slot(holder, here, given, self.elements_of(holder, mark, open_within))

    def arguments(self) -> str:
        block = [] if self.block_length == 1 else [f"block_length={self.block_length}"]
        return ", ".join([self.called(), f"cycle_length={self.cycle_length}", *block])

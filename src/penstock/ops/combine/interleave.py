"""Take turns among the results of several elements."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any, cast

import numpy as np

from penstock.core.cached import cached_property
from penstock.core.errors import CursorError
from penstock.core.frozen import frozen
from penstock.elements.chunks.chunk import concat
from penstock.ops.combine.inner import OpenWithin, Unfolding
from penstock.plan.deferred import PartMarks
from penstock.plan.flow import AskedFlow, Mark, Open, Piece, Reader, resumed
from penstock.plan.ids import first_child_id
from penstock.plan.types import INFINITE, UNKNOWN


class CycleSlot:
    """One open result: the position of its input element, and how many of its elements were yielded.

    `ids` is the id of its first element; the ids of the others follow.
    """

    __slots__ = ("given", "here", "ids", "reader")

    def __init__(self, holder: Piece, here: Mark, given: int, reader: Reader) -> None:
        self.ids = first_child_id(int(holder.ids[0]))
        self.here = here
        self.given = given
        self.reader = reader

    @property
    def mark(self) -> Mark:
        """The mark that reopens the slot."""
        return [self.here, self.given, self.reader.mark]


class Cycle:
    """The open slots by number, and the current turn; the cost of a turn does not depend on the number of slots.

    While the input has elements, every number gets its turn, because an empty slot is filled at its turn. After the end
    of the input (`stay_empty`), `order` holds the slots that were open when the round began.
    """

    def __init__(self, count: int, turn: int, opened: dict[int, CycleSlot]) -> None:
        self.opened = opened
        self.marks = PartMarks()
        for number, slot in opened.items():
            self.marks.change(number, slot.mark)
        self._order: Sequence[int] = range(count)
        self._at = turn  # the position in `order` of the current turn
        self._all_filled = False
        self._waits_for: int | None = None  # a slot that has no block ready, which rules out a whole round

    @property
    def turn(self) -> int:
        """The number of the slot whose turn it is."""
        return self._order[self._at]

    @property
    def now(self) -> CycleSlot | None:
        """The slot whose turn it is, if it is open."""
        if self._waits_for == self.turn:
            self._waits_for = None
        return self.opened.get(self.turn)

    def fill(self, slot: CycleSlot) -> None:
        """Open the slot whose turn it is."""
        self.opened[self.turn] = slot

    def end(self) -> None:
        """Close the slot whose turn it is."""
        slot = self.opened.pop(self.turn, None)
        if slot is not None:
            slot.reader.close()
            self.marks.change(self.turn, None)

    @property
    def over(self) -> bool:
        """True if no slot is open and none will be opened."""
        return self._all_filled and not self.opened

    def stay_empty(self) -> None:
        """Skip the slot whose turn it is, and all empty slots from now on: the input has no more elements."""
        if self._all_filled:
            self.pass_on()
            return
        turn, self._all_filled, self._waits_for = self.turn, True, None
        self._order = sorted(self.opened)
        self._at = bisect_left(self._order, turn) % max(len(self._order), 1)

    def pass_on(self) -> None:
        """Move to the next slot."""
        self._at += 1
        if self._at == len(self._order):
            if self._all_filled:
                self._order = [number for number in self._order if number in self.opened]
            self._at = 0

    def share(self, wanted: int | None, block: int) -> int | None:
        """Return how many elements the current slot can yield before all slots have yielded that many."""
        return None if wanted is None else wanted // (block * len(self._order)) * block

    def rounds(self, block: int) -> tuple[int, list[int]]:
        """Return the number of whole rounds of blocks that all slots have ready, and the open slots in turn order.

        A slot without a ready block is not checked again before its turn.
        """
        ready: list[int] = []
        if self._waits_for is not None:
            return 0, ready
        count = len(self._order)
        for place in range(self._at, self._at + count):
            number = self._order[place % count]
            slot = self.opened.get(number)
            if slot is None and self._all_filled:
                continue
            if slot is None or slot.reader.at_hand < block:
                self._waits_for = number
                return 0, ready
            ready.append(number)
        return min((self.opened[number].reader.at_hand for number in ready), default=0) // block, ready


@frozen()
class Interleave(Unfolding):
    """Yield `block_length` elements of the result of each of `cycle_length` elements in turn.

    An exhausted result is replaced by the result of the next input element at its next turn. The mark holds the input's
    mark and, for each slot up to the last open one, the mark of its input element and the position within its result.
    """

    cycle_length: int = 1
    block_length: int = 1

    @cached_property
    def length(self) -> int:
        return INFINITE if self.input.length == INFINITE else UNKNOWN

    def unfold(self, source: Open, epoch: int, mark: Mark, open_within: OpenWithin) -> AskedFlow:
        at, turn, used, saved = resumed(mark, (None, 0, 0, None))
        self._check(turn, used, saved)
        with ExitStack() as stack:
            opened: dict[int, CycleSlot] = {}
            stack.callback(lambda: [slot.reader.close() for slot in opened.values()])
            for number, each in enumerate(saved or ()):
                slot = self._reopened(source, epoch, each, open_within)
                if slot is not None:
                    opened[number] = slot
            reader = stack.enter_context(Reader(source, epoch, at))
            slots = Cycle(self.cycle_length, turn, opened)
            wanted: int | None = None
            while not slots.over:
                if used == 0 and (piece := self._rounds(slots)) is not None:
                    wanted = yield Piece(piece.chunk, piece.ids, [reader.mark, slots.turn, 0, slots.marks.now])
                    continue
                slot = slots.now
                if slot is None and (slot := self._next(reader, open_within)) is not None:
                    slots.fill(slot)
                if slot is None:
                    slots.stay_empty()
                    continue
                slot.reader.ready(slots.share(wanted, self.block_length))
                piece = slot.reader.read(self.block_length - used)
                if piece is None:
                    slots.end()
                    slots.pass_on()
                    used = 0
                    continue
                begin = slot.ids + slot.given
                ids = np.arange(begin, begin + len(piece), dtype=np.int64)
                slot.given += len(piece)
                slots.marks.change(slots.turn, slot.mark)
                used = (used + len(piece)) % self.block_length
                if not used:
                    slots.pass_on()
                wanted = yield Piece(piece.chunk, ids, [reader.mark, slots.turn, used, slots.marks.now])

    def _check(self, turn: int, used: int, saved: Any) -> None:
        """Raise an error for a mark that does not fit this node."""
        if turn >= self.cycle_length or used >= self.block_length:
            raise CursorError(
                f"the saved state's mark is at place {used} of block {turn}, which {self.label()} does not have"
            )
        if saved is not None and not (isinstance(saved, list) and len(cast("list[Any]", saved)) <= self.cycle_length):
            raise CursorError(f"the saved state's mark has {saved!r:.80} instead of the slots of {self.label()}")

    def _rounds(self, slots: Cycle) -> Piece | None:
        """Return as many whole rounds as all slots have ready, in one piece; `None` if some slot has no block ready."""
        rounds, numbers = slots.rounds(self.block_length)
        if rounds == 0:
            return None
        opened = [slots.opened[number] for number in numbers]
        count = rounds * self.block_length
        chunk = concat([cast("Piece", slot.reader.read(count)).chunk for slot in opened])
        # position of each element within its slot's elements, in round order: (rounds, 1, block_length)
        within = np.arange(count).reshape(rounds, 1, self.block_length)
        starts = count * np.arange(len(opened)).reshape(-1, 1)  # start of each slot's elements among all: (slots, 1)
        ids = np.array([slot.ids + slot.given for slot in opened], np.int64).reshape(-1, 1) + within
        for number, slot in zip(numbers, opened, strict=True):
            slot.given += count
            slots.marks.change(number, slot.mark)
        return Piece(chunk.select((starts + within).ravel()), ids.ravel())

    def _next(self, reader: Reader, open_within: OpenWithin) -> CycleSlot | None:
        """Return a slot for the input's next element, or `None` at the end."""
        if not reader.ready():
            return None
        here, holder = reader.mark, reader.read(1)
        return None if holder is None else CycleSlot(holder, here, 0, self.elements_of(holder, None, open_within))

    def _reopened(self, source: Open, epoch: int, saved: Mark, open_within: OpenWithin) -> CycleSlot | None:
        if saved is None:
            return None
        here, given, mark = resumed(saved, (None, 0, None))
        with Reader(source, epoch, here) as reader:
            holder = reader.read(1)
        return None if holder is None else CycleSlot(holder, here, given, self.elements_of(holder, mark, open_within))

    def arguments(self) -> str:
        block = [] if self.block_length == 1 else [f"block_length={self.block_length}"]
        return ", ".join([self.called(), f"cycle_length={self.cycle_length}", *block])

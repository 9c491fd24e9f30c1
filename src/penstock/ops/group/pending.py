"""Elements that wait in groups by key, and the way to read only these elements again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol, cast

import numpy as np

from penstock.core.budget import Account, Told, unlimited
from penstock.core.errors import CursorError
from penstock.elements.footprint import memory_of
from penstock.ops.elementwise.beside import parted
from penstock.plan.flow import BEYOND, MOST_READ, Mark, Open, Piece, Reader, join_pieces, resumed

MOST_KEYS = 1024
"""Groups whose beginnings a mark lists; if more wait, the epoch is read again from its beginning."""


class GroupingRule(Protocol):
    """The rule that groups elements and limits the size of groups."""

    def keys(self, numbers: list[int]) -> list[int]:
        """Return the groups of elements with these numbers."""
        ...

    def most(self, key: int, largest: int) -> int:
        """Return the number of elements that a group has room for, given the largest number in it; at least 1."""
        ...


class Full(NamedTuple):
    """A group that leaves: its elements, its key, its capacity, and the mark after it."""

    key: int
    elements: Piece
    most: int
    after: Mark


class PendingGroup:
    """The waiting elements of one key, in order of arrival; elements of the current piece by position.

    `first` is the position of the oldest of them in the input, `here` the reader's mark of the piece that holds it, and
    `begin` the position of that piece.
    """

    __slots__ = ("begin", "count", "first", "here", "key", "largest", "most", "parts", "positions")

    def __init__(self, key: int, here: Mark, begin: int, first: int) -> None:
        self.key = key
        self.here = here
        self.begin = begin
        self.first = first
        self.parts: list[Piece] = []
        self.positions: list[int] = []
        self.count = 0
        self.largest = 0
        self.most = 0

    def settle(self, piece: Piece) -> int:
        """Copy the elements out of the current piece, which is about to be released; return their number."""
        count = len(self.positions)
        if count:
            self.parts.append(piece.select(np.array(self.positions)))
            self.positions = []
        return count


class Pending:
    """A reader of elements paired with numbers that yields groups once they are full.

    A mark holds how many elements were read since the oldest waiting one (since its piece, for short), the reader's
    mark there, and which elements were the first of the waiting groups: `[since, mark, [place, place ...]]`. Because
    groups leave as a whole, all elements of a waiting key after its first one wait too, so reading the same elements
    again finds them.
    """

    def __init__(
        self, rule: GroupingRule, source: Open, epoch: int, mark: Mark, account: Account | None = None
    ) -> None:
        since, at, firsts = resumed(mark, (0, None, []))
        self._rule = rule
        self._account = account or unlimited()
        self._waiting = 0  # elements
        self._mean = 0.0  # bytes of one of these
        self._reader = Reader(source, epoch, at)
        self._groups: dict[int, PendingGroup] = {}  # the group with the oldest element first
        self._place = 0  # position of the next element, counted from where the reader began
        self._here: Mark = None  # reader's mark of the current piece, and the position of its first element
        self._begin = 0
        self._read_again(since, firsts)

    def close(self) -> None:
        """Stop the input."""
        self._reader.close()

    def full(self) -> Iterator[Full]:
        """Yield the groups that fill up, until the end of the input."""
        return (step for step in self.steps() if step is not None)

    def steps(self) -> Iterator[Full | None]:
        """Yield the groups that fill up, and `None` before more of the input has to be made."""
        rule, groups = self._rule, self._groups
        while (read := self._next(MOST_READ)) is not None:
            numbers, piece = read
            touched: list[PendingGroup] = []
            for at, (key, number) in enumerate(zip(rule.keys(numbers), numbers, strict=True)):
                group = groups.get(key)
                most = rule.most(key, number) if group is None or number > group.largest else group.most
                if group is not None and group.count >= most:
                    yield self._gone([group], self._begin + at, piece)
                    group = None
                if group is None:
                    group = groups[key] = PendingGroup(key, self._here, self._begin, self._begin + at)
                    most = rule.most(key, number)
                if not group.positions:
                    touched.append(group)
                group.positions.append(at)
                group.count, group.largest, group.most = group.count + 1, max(group.largest, number), most
                if group.count >= most:
                    yield self._gone([group], self._begin + at + 1, piece)
            self._settle(touched, piece)
            yield None

    def left(self, *, join: bool) -> Iterator[Full]:
        """Yield the groups left at the end of the input, in key order.

        With `join`, consecutive groups are merged as far as they fit.
        """
        while self._groups:
            together, count, largest = list[PendingGroup](), 0, 0
            for key in sorted(self._groups):
                group = self._groups[key]
                count, largest = count + group.count, max(largest, group.largest)
                if together and not (join and count <= self._rule.most(key, largest)):
                    break
                together.append(group)
            yield self._gone(together, self._place)

    def _settle(self, groups: Iterable[PendingGroup], piece: Piece) -> None:
        """Let the groups keep their elements of the current piece, and count the bytes of all that wait."""
        more = sum([group.settle(piece) for group in groups])
        if more:
            self._waiting += more
            self._mean += (memory_of(piece.chunk) / len(piece) - self._mean) * more / self._waiting
        self._account.hold(round(self._waiting * self._mean), self._told)

    def _told(self) -> Told:
        groups = f"in {len(self._groups):,} groups that are not full"
        holds = f"{self._account.name} holds {self._waiting:,} elements ({self._account.nbytes:,} bytes) {groups}"
        return holds, "use fewer keys, smaller groups or smaller elements"

    def _gone(self, groups: list[PendingGroup], place: int, piece: Piece | None = None) -> Full:
        """Return the elements of groups that leave when all input before `place` was read and `piece` is current."""
        for group in groups:
            if piece is not None:
                self._waiting += group.settle(piece)
            self._waiting -= group.count
            del self._groups[group.key]
        elements = join_pieces([part for group in groups for part in group.parts])
        key, most = groups[0].key, groups[0].most
        if len(groups) > 1:
            most = self._rule.most(key, max(group.largest for group in groups))
        return Full(key, elements, most, self._mark(place))

    def _mark(self, place: int) -> Mark:
        if len(self._groups) > MOST_KEYS:
            return None
        oldest = next(iter(self._groups.values()), None)
        here, begin = (self._here, self._begin) if oldest is None else (oldest.here, oldest.begin)
        return [place - begin, here, [group.first - begin for group in self._groups.values()]]

    def _next(self, most: int) -> tuple[list[int], Piece] | None:
        """Return the numbers of the next elements, and the elements."""
        there = self._reader.ready()
        self._here, self._begin = self._reader.mark, self._place
        if not there:
            return None
        pairs = cast("Piece", self._reader.read(most))
        numbers, chunk = parted(pairs.chunk)
        self._place += len(numbers)
        return numbers, Piece(chunk, pairs.ids)

    def _read_again(self, since: int, firsts: Sequence[int]) -> None:
        """Read the same input again, and keep the waiting groups: those that begin at these positions."""
        groups, coming = self._groups, iter(firsts)
        first = next(coming, None)
        while self._place < since:
            read = self._next(since - self._place)
            if read is None:
                raise CursorError(BEYOND)
            numbers, piece = read
            for at, (key, number) in enumerate(zip(self._rule.keys(numbers), numbers, strict=True)):
                group = groups.get(key)
                if self._begin + at == first:
                    if group is not None:
                        raise CursorError(BEYOND)
                    group = groups[key] = PendingGroup(key, self._here, self._begin, self._begin + at)
                    first = next(coming, None)
                if group is not None:
                    group.positions.append(at)
                    group.count, group.largest = group.count + 1, max(group.largest, number)
            self._settle(groups.values(), piece)
        if first is not None:
            raise CursorError(BEYOND)
        for group in groups.values():
            group.most = self._rule.most(group.key, group.largest)

"""The position of a run: the items of the epoch that the consumer received, not those made ahead."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple, Protocol

from penstock.core.errors import CursorError
from penstock.engine.cursors.cursor import Cursor
from penstock.plan.deferred import settled
from penstock.plan.flow import BEYOND, CUT_OFF, Mark, Piece


class Position(Protocol):
    """Counter of the pieces that a run hands out, which makes the cursor to continue from.

    Each change is stored in one statement, and the consumer sets `unreceived` to 0 in the statement that stores the
    items, so that an interrupt finds a change made as a whole or not at all.
    """

    unreceived: int
    """The items of the piece handed out last, until the consumer has them."""

    def hand_out(self, piece: Piece) -> int:
        """Count a piece as handed out and earlier ones as received; return the number of its items to leave out."""
        ...

    def end(self) -> None:
        """Check that the epoch may end here."""
        ...

    def cursor(self, left: int = 0) -> Cursor:
        """Return the cursor to continue from, if `left` items of the piece handed out last were not received."""
        ...


class RowPosition:
    """All items before a row were received, and spans of items after it if items come in the order they finish."""

    def __init__(self, cursor: Cursor) -> None:
        self._cursor = cursor
        self._row = cursor.row
        self._ahead = list(cursor.ahead)
        self._low = self._high = cursor.row
        self.unreceived = 0

    def hand_out(self, piece: Piece) -> int:
        row, ahead = _received(self._row, self._ahead, self._low, self._high)
        high, count = int(piece.after), len(piece.chunk)
        self._row, self._ahead, self._low, self._high, self.unreceived = row, ahead, high - count, high, count
        return 0

    def end(self) -> None:
        """Do nothing: an epoch of rows may end anywhere."""

    def cursor(self, left: int = 0) -> Cursor:
        row, ahead = _received(self._row, self._ahead, self._low, self._high - left - self.unreceived)
        return replace(self._cursor, row=row, ahead=tuple(ahead))


def _received(row: int, ahead: list[tuple[int, int]], low: int, high: int) -> tuple[int, list[tuple[int, int]]]:
    """Return the first item not received, and the spans received after it, once items `low` to `high` are added."""
    if low == row and not ahead:
        return high, ahead
    ahead = ahead.copy()
    if low < high:
        ahead.append((low, high))
        ahead.sort()
    while ahead and ahead[0][0] == row:
        row = ahead.pop(0)[1]
    return row, ahead


class StreamPlace(NamedTuple):
    """A place in a stream: `row` items were received, of which `offset` come after the mark."""

    mark: Mark
    offset: int
    row: int


class StreamPosition:
    """A mark of the stream, and the number of items received after it."""

    def __init__(self, cursor: Cursor) -> None:
        self._cursor = cursor
        self._left_out = cursor.offset  # items to leave out before the first
        self._before = cursor.mark  # the mark before the next piece
        self._inside = 0  # items since that mark, in pieces without one of their own
        self._place = self._next = StreamPlace(
            cursor.mark, cursor.offset, cursor.row
        )  # before and after the last piece
        self.unreceived = 0

    def hand_out(self, piece: Piece) -> int:
        count, row = len(piece), self._next.row
        left_out = min(self._left_out, count)
        left, given = self._left_out - left_out, count - left_out
        inside = self._inside + count if piece.after is CUT_OFF else 0
        after = self._before if inside else piece.after
        place = following = self._next
        if given:
            place = StreamPlace(self._before, self._inside + left_out, row)
            following = StreamPlace(after, inside, row + given)
        elif not left:
            place = following = StreamPlace(after, inside, row)
        held = left, after, inside, place, following, given
        self._left_out, self._before, self._inside, self._place, self._next, self.unreceived = held
        return left_out

    def end(self) -> None:
        """Raise a `CursorError` if the stream ended before the items that were received."""
        if self._left_out:
            raise CursorError(BEYOND)

    def cursor(self, left: int = 0) -> Cursor:
        left += self.unreceived
        mark, offset, row = self._place if left else self._next
        received = self._next.row - left - row
        return replace(self._cursor, mark=settled(mark), offset=offset + received, row=row + received)

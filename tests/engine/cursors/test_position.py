"""Positions: the cursor to resume from, wherever the consumer stops and however much was made ahead."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.errors import CursorError
from penstock.elements.chunks.chunk import Items
from penstock.engine.cursors.cursor import Cursor
from penstock.engine.cursors.position import RowPosition, StreamPosition
from penstock.plan.deferred import PartMarks
from penstock.plan.flow import CUT_OFF, Piece


def piece(low, high, mark=None):
    """Items `low` to `high`."""
    return Piece(Items(list(range(low, high))), np.arange(low, high), high if mark is None else mark)


def taken(position, piece):
    """Hand a piece out, and have the consumer receive it; until then, the cursor tells of none of its items."""
    before = position.cursor()
    left_out = position.hand_out(piece)
    after = position.cursor()
    assert (after.row, received_by(after)) == (before.row, received_by(before))
    position.unreceived = 0
    return left_out


def received_by(cursor):
    return set(range(cursor.row)).union(*(range(low, high) for low, high in cursor.ahead))


# Rows


@given(st.permutations(range(8)), st.integers(0, 8))
def test_a_cursor_of_rows_records_items_received_in_any_order(order, count):
    position = RowPosition(Cursor(1, 2, 0))
    for item in order[:count]:
        assert taken(position, piece(item, item + 1)) == 0
    cursor = position.cursor()
    assert received_by(cursor) == set(order[:count])
    assert (cursor.seed, cursor.epoch) == (1, 2)
    assert RowPosition(cursor).cursor() == cursor


@given(st.permutations([(0, 3), (3, 4), (4, 9), (9, 11)]), st.integers(1, 4), st.integers(0, 5))
def test_a_cursor_of_rows_leaves_out_the_items_of_the_last_piece_that_were_not_received(order, count, left):
    position = RowPosition(Cursor(0, 0, 0))
    for low, high in order[:count]:
        taken(position, piece(low, high))
    low, high = order[count - 1]
    left = min(left, high - low)
    wanted = set().union(*(range(*span) for span in order[: count - 1]), range(low, high - left))
    assert received_by(position.cursor(left)) == wanted
    assert received_by(position.cursor()) == wanted | set(range(high - left, high))


def test_without_handed_out_items_the_cursor_is_unchanged():
    position = RowPosition(Cursor(0, 0, 4, ahead=((6, 8),)))
    assert position.cursor() == Cursor(0, 0, 4, ahead=((6, 8),))
    position.end()


def test_a_piece_of_no_rows_changes_nothing():
    position = RowPosition(Cursor(0, 0, 4))
    taken(position, piece(7, 7))
    assert position.cursor() == Cursor(0, 0, 4)


# Streams

SIZES = st.lists(st.integers(0, 4), max_size=6)


@given(SIZES, st.data())
def test_a_cursor_of_a_stream_counts_from_the_mark_before_the_last_piece(sizes, data):
    """A mark here counts the elements before it, so the mark and the offset after it must tell the same as the row."""
    position, row, last = StreamPosition(Cursor(1, 2, 0)), 0, 0
    for last in sizes:
        assert taken(position, piece(row, row + last)) == 0
        row += last
    left = data.draw(st.integers(0, last))
    cursor = position.cursor(left)
    assert (cursor.seed, cursor.epoch, cursor.row) == (1, 2, row - left)
    assert (cursor.mark or 0) + cursor.offset == row - left
    position.end()


@given(SIZES, st.integers(0, 12))
def test_a_resumed_stream_leaves_out_items_received_before(sizes, offset):
    position, row, received = StreamPosition(Cursor(0, 0, 100 + offset, offset=offset)), 0, 100 + offset
    for size in sizes:
        left_out = taken(position, piece(row, row + size))
        assert left_out == min(max(offset - row, 0), size)
        row += size
        received += size - left_out
        cursor = position.cursor()
        assert cursor.row == received
        assert (cursor.mark or 0) + cursor.offset == max(row, offset)
    if row < offset:
        with pytest.raises(CursorError, match="beyond the end"):
            position.end()
    else:
        position.end()


def test_the_mark_of_a_cursor_is_plain_data():
    position, parts = StreamPosition(Cursor(0, 0, 0)), PartMarks()
    parts.change(0, [1, 2])
    taken(position, piece(0, 2, mark=parts.now))
    assert position.cursor().mark == [[1, 2]]
    assert position.cursor(1) == Cursor(0, 0, 1, mark=None, offset=1)


@given(st.integers(0, 5), st.lists(st.integers(1, 4), min_size=1, max_size=4), st.data())
def test_parts_of_a_piece_without_a_mark_count_from_the_mark_before(offset, parts, data):
    total = sum(parts)
    offset = min(offset, total - 1)
    position = StreamPosition(Cursor(0, 0, 7, mark="begin", offset=offset))
    received, low = 7, 0
    for number, size in enumerate(parts):
        is_last = number == len(parts) - 1
        left_out = taken(position, piece(low, low + size, "end" if is_last else CUT_OFF))
        low += size
        received += size - left_out
        left = data.draw(st.integers(0, size - left_out))
        cursor = position.cursor(left)
        assert cursor.row == received - left
        if is_last and not left:
            assert (cursor.mark, cursor.offset) == ("end", 0)
        else:
            assert (cursor.mark, cursor.offset) == ("begin", max(offset, low - left))

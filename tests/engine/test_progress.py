from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.engine.cursor import Cursor
from penstock.engine.progress import Progress


@given(st.permutations(range(8)), st.integers(0, 8))
def test_whatever_the_order_the_cursor_says_what_was_received(order, count):
    progress = Progress(Cursor(1, 2, 0))
    for item in order[:count]:
        progress.receive(item, item + 1)
    cursor = progress.cursor()
    received = set(range(cursor.row)).union(*(range(low, high) for low, high in cursor.ahead))
    assert received == set(order[:count])
    assert (cursor.seed, cursor.epoch) == (1, 2)
    assert Progress(cursor).cursor() == cursor


def test_nothing_received_changes_nothing():
    progress = Progress(Cursor(0, 0, 4))
    progress.receive(7, 7)
    assert progress.cursor() == Cursor(0, 0, 4)

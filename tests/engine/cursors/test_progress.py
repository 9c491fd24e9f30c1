from __future__ import annotations

from types import SimpleNamespace

from hypothesis import given
from hypothesis import strategies as st

from penstock.engine.cursors.cursor import Cursor
from penstock.engine.cursors.progress import ReceivedItems, received_between


@given(st.permutations(range(8)), st.integers(0, 8))
def test_the_cursor_covers_exactly_the_items_received_in_any_order(order, count):
    items = ReceivedItems(Cursor(1, 2, 0))
    for item in order[:count]:
        items.receive(item, item + 1)
    cursor = items.cursor()
    received = set(range(cursor.row)).union(*(range(low, high) for low, high in cursor.ahead))
    assert received == set(order[:count])
    assert (cursor.seed, cursor.epoch) == (1, 2)
    assert ReceivedItems(cursor).cursor() == cursor


def test_an_empty_span_changes_nothing():
    items = ReceivedItems(Cursor(0, 0, 4))
    items.receive(7, 7)
    assert items.cursor() == Cursor(0, 0, 4)


def test_items_between_lost_tasks_were_received():
    lost = [SimpleNamespace(low=4, high=6), SimpleNamespace(low=9, high=12), SimpleNamespace(low=12, high=14)]
    assert received_between(lost, 20, [(2, 3)]) == [(2, 3), (6, 9), (14, 20)]

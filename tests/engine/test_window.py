from __future__ import annotations

import threading

import numpy as np
import pytest
from penstock.engine.parcel import Parcel
from penstock.engine.task import Cost, Listed
from penstock.engine.window import Window

from penstock.core.errors import ClosedError

DONE = Listed([], (1, Cost(1, 1)))


def parcel(low, high=None, pieces=1):
    high = low + 1 if high is None else high
    return Parcel(low, high, np.arange(low, high, dtype=np.int64), pieces)


def filled_window(ordered, count=3):
    window = Window(ordered=ordered)
    parcels = [parcel(index) for index in range(count)]
    for each in parcels:
        window.push(each)
    return window, parcels


def test_in_order_the_oldest_comes_first():
    window, (first, second, third) = filled_window(ordered=True)
    for each in (third, second, first):
        window.filled(each, 0, DONE)
    assert [window.pop() for _ in range(3)] == [first, second, third]
    assert len(window) == 0


def test_out_of_order_the_finished_come_first():
    window, (first, second, third) = filled_window(ordered=False)
    window.filled(third, 0, DONE)
    assert window.pop() is third
    window.filled(first, 0, DONE)
    window.filled(second, 0, DONE)
    assert [window.pop(), window.pop()] == [first, second]


def test_a_parcel_waits_for_all_its_pieces():
    window = Window(ordered=True)
    whole = parcel(0, 4, pieces=2)
    window.push(whole)
    window.filled(whole, 1, DONE)
    popped = []
    waiter = threading.Thread(target=lambda: popped.append(window.pop()))
    waiter.start()
    assert popped == []
    window.filled(whole, 0, DONE)
    waiter.join(10)
    assert popped == [whole]


def test_what_is_made_right_behind_the_one_before_can_be_taken_with_it():
    window, (first, second, third) = filled_window(ordered=True)
    for each in (first, second):
        window.filled(each, 0, DONE)
    assert window.pop() is first
    assert window.pop_behind(first) is second
    assert window.pop_behind(second) is None  # not made yet
    window.filled(third, 0, ValueError("a bad row"))
    assert window.pop_behind(second) is None  # its failure comes when it is waited for
    assert (window.pop(), len(window), window.tasks) == (third, 0, 0)
    assert window.pop_behind(third) is None


def test_only_what_comes_next_is_behind():
    apart = Window(ordered=True)
    before, after = parcel(0), parcel(5)  # those between were received out of order, before
    for window in (apart, unordered := Window(ordered=False)):
        for each in (parcel(0), parcel(5) if window is apart else parcel(1)):
            window.push(each)
            window.filled(each, 0, DONE)
        assert window.pop_behind(window.pop()) is None
    assert (before.high, after.low, len(unordered)) == (1, 5, 1)


def test_closing_wakes_who_waits_and_cancels_what_has_not_begun():
    from concurrent.futures import Future

    window, parcels = filled_window(ordered=True, count=2)
    parcels[0].futures = [Future()]
    outcome = []

    def wait():
        try:
            window.pop()
        except ClosedError as error:
            outcome.append(error)

    waiter = threading.Thread(target=wait)
    waiter.start()
    dropped = window.close()
    waiter.join(10)
    assert len(outcome) == 1
    assert dropped == parcels
    assert parcels[0].futures[0].cancelled()
    window.filled(parcels[1], 0, DONE)  # a task that ends late harms nothing
    with pytest.raises(ClosedError):
        window.pop()


def test_it_counts_items_and_bytes():
    window = Window(ordered=True)
    for low, high, nbytes in ((0, 3, 10), (3, 4, 5)):
        each = parcel(low, high)
        each.nbytes = nbytes
        window.push(each)
    assert (len(window), window.items, window.nbytes) == (2, 4, 15)
    window.after_fork()
    assert (len(window), window.items, window.nbytes) == (0, 0, 0)


def test_it_tells_what_is_unfinished_and_whether_the_next_is_there():
    window, (first, second, third) = filled_window(ordered=True)
    assert (window.unfinished, window.waits) == (3, True)
    window.filled(second, 0, DONE)
    assert (window.unfinished, window.waits) == (2, True)
    window.filled(first, 0, DONE)
    assert (window.unfinished, window.waits) == (1, False)
    window.pop()
    window.pop()
    assert (window.unfinished, window.waits) == (1, True)
    assert third.missing == 1

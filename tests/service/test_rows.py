"""Rows that are made once for several consumers."""

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import penstock as ps
from penstock.service.client import as_served
from penstock.service.rows import MOST_LANES, PreparedRows

D = ps.Dataset
EAGER = ps.Options(executor="threads", workers=2)


class Counted:
    """Rows of a dataset whose function counts its calls."""

    def __init__(self, count, function=lambda x: x * 10, options=EAGER):
        self.made = Counter()

        def counting(x):
            self.made[int(x)] += 1
            return function(x)

        plan = D.range(count).map(counting, thread_safe=True).with_options(options)._plan
        self.prepared = PreparedRows(plan, as_served(plan))

    def __call__(self, *rows, careful=False):
        return self.prepared.rows(np.array(rows, np.int64), careful).elements()


@pytest.fixture
def counted():
    opened = []

    def make(*args, **named):
        opened.append(Counted(*args, **named))
        return opened[-1]

    yield make
    for each in opened:
        each.prepared.close()


def test_consumers_that_read_in_order_share_every_row(counted):
    rows = counted(500)

    def read(rank):
        return [x for at in range(rank, 500, 5 * 4) for x in rows(*range(at, min(at + 20, 500), 4))]

    with ThreadPoolExecutor(8) as threads:
        of_ranks = list(threads.map(read, [0, 1, 2, 3] * 2))
    assert of_ranks == [[x * 10 for x in range(rank, 500, 4)] for rank in range(4)] * 2
    assert rows.made == Counter(range(500))


def test_rows_in_any_order_with_repeats_are_made_alone_and_kept(counted):
    rows = counted(10_000)
    for _ in range(2):
        assert rows(7000, 3, 3, 5000) == [70_000, 30, 30, 50_000]
    assert rows.made == Counter([7000, 3, 5000])
    assert rows() == []


def test_nothing_but_the_rows_is_made_after_a_service_has_ended(counted):
    rows = counted(100)
    assert rows(0, 1, careful=True) + rows(2, careful=True) == [0, 10, 20]
    assert rows.made == Counter([0, 1, 2])


def test_a_reader_elsewhere_gets_a_run_of_its_own_and_no_more_than_a_few(counted):
    rows = counted(10_000_000)
    for place in range(0, 10_000_000, 1_000_000):
        for at in range(place, place + 30, 3):
            assert rows(at, at + 1, at + 2) == [at * 10, at * 10 + 10, at * 10 + 20]
    assert 1 < len(rows.prepared._lanes) <= MOST_LANES
    assert max(rows.made) < 9_100_000


def test_every_epoch_is_made_in_its_order(counted):
    rows = counted(50)
    assert [rows(at)[0] for at in range(130)] == [at % 50 * 10 for at in range(130)]
    assert rows.made[7] == 3


def test_kept_elements_stay_within_half_of_the_budget(counted):
    small = ps.Options(memory_budget=8 << 20)
    rows = counted(200, lambda x: np.full(10_000, x), small)  # 80 kB each
    for at in range(200):
        assert rows(at)[0][5] == at
        with rows.prepared._changed:
            assert rows.prepared._nbytes <= 4 << 20 or len(rows.prepared._order) == 1
    assert rows(3)[0][0] == 3  # again
    assert rows.made[3] > 1


def test_rows_that_made_room_are_made_again_and_counted(counted):
    rows = counted(120, lambda x: np.full(10_000, x), ps.Options(memory_budget=1 << 20, executor="threads", workers=2))
    for at in range(0, 120, 10):  # 80 kB each, of which 6 are kept
        assert [int(x[0]) for x in rows(*range(at, at + 10))] == list(range(at, at + 10))
    assert (rows.made, rows.prepared.again) == (Counter(range(120)), 0)
    for at in range(0, 120, 10):
        rows(*range(at, at + 10))
    assert rows.prepared.again == sum(rows.made.values()) - 120 > 100


def test_a_row_that_fails_is_told_to_those_who_ask_for_it(counted):
    rows = counted(40, lambda x: 1 // (x - 13))
    for _ in range(2):
        assert [rows(at) for at in (*range(13), *range(14, 40))] == [[1 // (at - 13)] for at in range(40) if at != 13]
        with pytest.raises(ZeroDivisionError):
            rows(12, 13, 14)


def test_threads_end_with_it(counted):
    before = set(threading.enumerate())
    rows = counted(100_000)
    rows(0, 1, 2)
    rows.prepared.close()
    for thread in set(threading.enumerate()) - before:
        thread.join(30)
        assert not thread.is_alive()

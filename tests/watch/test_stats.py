"""Rates and shares are arithmetic on the counts; printed, counts are a line and a table."""

from __future__ import annotations

from dataclasses import replace

import pytest

import penstock as ps
from penstock.watch.stats import OperationStats, Stats, names, operations_table


def operation(name="map(f)", wall=1.0, **changed):
    counts = {"calls": 10, "rows": 1000, "cpu": wall, "wait": 0.0, "bytes": 0} | changed
    return OperationStats(name=name, wall=wall, **counts)


def stats(**changed):
    counts = {
        "unit": "batch",
        "items": 100,
        "rows": 6400,
        "waited": 2.0,
        "stepped": 8.0,
        "work": 5.0,
        "blocked": 0.0,
        "starved": 0.0,
        "workers": 2,
        "cores": 2.0,
        "mode": "2 threads",
        "chosen": False,
        "ahead": 3,
        "live_bytes": 0,
        "peak_bytes": 0,
        "holds_gil": False,
        "decisions": (),
        "operations": (operation("read", 1.0), operation("map(f)", 3.0), operation("batch(64)", 1.0)),
    }
    return Stats(**counts | changed)


def test_seconds_are_the_sum_of_waiting_and_stepping():
    assert stats().seconds == 10.0
    assert stats().wait_share == pytest.approx(0.2)


def test_the_rate_counts_received_items_and_the_ceiling_possible_ones():
    assert stats().rate == pytest.approx(10)  # 100 items in 10 s
    assert stats().ceiling == pytest.approx(40)  # 2 workers, 0.05 s of work an item
    fewer = replace(stats(), workers=1, work=40 * stats().work)  # than there were before
    assert fewer.ceiling == fewer.rate


def test_the_limit_is_the_operation_that_takes_the_most():
    assert stats().limit.name == "map(f)"
    assert stats(operations=()).limit is None


def test_rates_are_zero_before_the_first_item():
    empty = stats(items=0, rows=0, waited=0.0, stepped=0.0, work=0.0)
    assert (empty.rate, empty.ceiling, empty.wait_share, empty.seconds) == (0.0, 0.0, 0.0, 0.0)


def passed(ds, taken):
    with ds.iterator() as it:
        for _ in range(taken):
            next(it)
        return it, it.stats()


def test_stats_print_as_a_line_and_a_table():
    _, stats = passed(ps.Dataset.range(100).filter(lambda x: x % 2 == 0).batch(10), 5)
    whole, header, *rows = str(stats).splitlines()
    assert whole.startswith("5 batches, 50 rows in ")
    assert whole.endswith(" % of the time")
    assert header.split()[:2] == ["operation", "rows"]
    assert [row.split()[0] for row in rows] == ["range(100)", "filter(lambda,", "batch(10)"]


def test_no_table_is_shown_before_the_first_item():
    assert str(ps.Dataset.range(3).iterator().stats()) == "0 elements in 0.00 s; not begun; waited 0 % of the time"


def test_iterators_and_feeds_have_a_repr():
    it, _ = passed(ps.Dataset.range(100).batch(10), 3)
    assert repr(it) == "<Iterator over batch(10): epoch 0, 3 received>"


def test_operations_of_one_name_are_numbered():
    assert names((operation("a", 1.0), operation("b", 1.0), operation("a", 1.0))) == ["a", "b", "a 2"]
    rows = operations_table(stats(operations=(operation("a", 1.0), operation("a", 1.0))))[1:]
    assert [row[0] for row in rows] == ["a", "a 2"]

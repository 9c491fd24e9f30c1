"""Rates and shares are arithmetic on the counts."""

from __future__ import annotations

import pytest

from penstock.watch.stats import OperationStats, Stats


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


def test_seconds_are_those_of_waiting_and_of_stepping():
    assert stats().seconds == 10.0
    assert stats().wait_share == pytest.approx(0.2)


def test_the_rate_is_what_came_and_the_ceiling_what_could():
    assert stats().rate == pytest.approx(10)  # 100 items in 10 s
    assert stats().ceiling == pytest.approx(40)  # 2 workers, 0.05 s of work an item


def test_the_limit_is_the_operation_that_takes_the_most():
    assert stats().limit.name == "map(f)"
    assert stats(operations=()).limit is None


def test_before_anything_happened_all_rates_are_zero():
    empty = stats(items=0, rows=0, waited=0.0, stepped=0.0, work=0.0)
    assert (empty.rate, empty.ceiling, empty.wait_share, empty.seconds) == (0.0, 0.0, 0.0, 0.0)

"""Figures of a run that change over time."""

from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.watch.export.figures import figures, shares
from tests.watch.test_verdict import operation, stats


def test_rates_are_those_since_the_moment_before():
    before = stats(waited=3.0, stepped=7.0)
    now = replace(before, items=150, rows=9600, waited=4.0, stepped=8.0, live_bytes=3_000_000)
    found = figures(now, before)
    assert found["batches_per_second"] == 25
    assert found["rows_per_second"] == 1600
    assert found["waiting"] == 0.5
    assert found["memory/batches_mb"] == 3
    assert figures(before)["waiting"] == pytest.approx(0.3)


def test_figures_of_nothing_are_zero():
    found = figures(stats(items=0, rows=0, waited=0.0, stepped=0.0, operations=()))
    assert set(found.values()) == {0, 2, 3}  # two workers, three tasks under way


def test_elements_have_one_rate():
    assert "rows_per_second" not in figures(stats(unit="element"))
    assert "elements_per_second" in figures(stats(unit="element"))


def test_shares_of_work_add_up_to_one():
    before = stats(operations=(operation("a", 4.0), operation("b", 1.0)))
    now = stats(operations=(operation("a", 5.0), operation("b", 4.0)))
    assert shares(before) == {"a": 0.8, "b": 0.2}
    assert shares(now, before) == {"a": 0.25, "b": 0.75}

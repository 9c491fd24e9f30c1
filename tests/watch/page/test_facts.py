"""Facts about a run in a bounded amount of memory."""

from __future__ import annotations

import pytest

from penstock.watch.page.facts import BINS, SLOWEST, CostlyTask, Costs, Levels, Timeline


def test_a_timeline_keeps_all_busy_time_as_the_run_grows():
    line = Timeline(began=100, width=10)
    for at in range(0, 100_000, 50):
        line.add("worker", 100 + at, 25)
    assert sum(line.lanes["worker"]) == 25 * 2000
    assert len(line.lanes["worker"]) == BINS
    assert line.width * BINS >= 100_000
    assert max(line.shares("worker")) <= 1


def test_a_time_before_the_beginning_counts_from_it():
    line = Timeline(began=100, width=10)
    line.add("worker", 90, 10)
    assert line.lanes["worker"][0] == 10


def test_costs_are_counted_by_item_and_the_slowest_are_kept():
    costs = Costs()
    for item in range(100):
        costs.add(CostlyTask(1000 * (item + 1), "batch", item, 1))
    costs.add(CostlyTask(8000, "batch", 100, 8))  # 1000 ns an item
    assert sum(count for _, count in costs.histogram()) == 108
    assert sorted(task.item for task in costs.slowest) == list(range(100 - SLOWEST, 100))
    assert costs.tasks == 101
    assert costs.histogram()[0][0] == pytest.approx(1e-6, rel=0.2)
    assert Costs().histogram() == []


def test_levels_keep_the_first_moments_and_the_last():
    levels = Levels(most=16)
    for at in range(1000):
        levels.add(at, {"a": at, "b": -at})
    assert len(levels.times) < 16
    assert levels.times[0] == 0
    assert levels.values["a"] == levels.times
    assert levels.values["b"] == [-time for time in levels.times]


def test_a_time_of_which_a_part_was_busy_is_spread():
    line = Timeline(began=0, width=10)
    line.add("waits", 0, 40, 10)
    line.add("steps", 0, 40, 30)
    line.add("steps", 40, 0, 0)
    assert line.lanes["waits"][:5] == [2.5] * 4 + [0.0]
    assert line.lanes["steps"][:5] == [7.5] * 4 + [0.0]

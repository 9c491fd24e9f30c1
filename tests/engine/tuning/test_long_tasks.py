"""The few tasks that hold up many others."""

from __future__ import annotations

import pytest

from penstock.engine.tuning.long_tasks import FORGOTTEN, LEAST_BEYOND, MOST_HELD_UP, RARE, LongTasks

MEAN = 5_000_000


@pytest.mark.parametrize(
    ("costs", "held_up"),
    [
        ([], 0),
        ([MEAN] * 9, 0),
        ([(RARE + 1) * MEAN] * 2, RARE),
        ([RARE * MEAN] * 2, 0),
        ([100 * MEAN] * 2, MOST_HELD_UP),
        ([100 * MEAN, MEAN], 0),  # a single one may be chance
        ([100 * MEAN, 20 * MEAN], 20),
    ],
)
def test_two_long_tasks_tell_how_many_they_hold_up(costs, held_up):
    tasks = LongTasks()
    for cost in costs:
        tasks.observe(cost, MEAN)
    assert tasks.held_up(MEAN) == held_up


def test_short_tasks_are_soon_over_however_uneven():
    tasks = LongTasks()
    for cost in [LEAST_BEYOND] * 2:
        tasks.observe(cost, 1000)
    assert tasks.held_up(1000) == 0


def test_long_tasks_are_forgotten_in_time():
    tasks = LongTasks()
    for cost in [100 * MEAN] * 2 + [MEAN] * 4 * FORGOTTEN:
        tasks.observe(cost, MEAN)
    assert tasks.held_up(MEAN) == 0

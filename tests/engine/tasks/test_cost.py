from __future__ import annotations

from dataclasses import astuple

import numpy as np
import pytest

from penstock.elements.chunks.chunk import Items
from penstock.engine.tasks.cost import EVERY, FULLY, LONG_WAIT_FOR_GIL, WANTED, Contention, Cost, Meter
from penstock.engine.tasks.task import Made
from penstock.plan.flow import Piece


def cost_of(took):
    return Made(Piece(Items([]), np.arange(0)), took).cost


def test_costs_add_up_and_blocked_time_is_the_rest_of_the_wall_time():
    total = Cost(10, 4, 1)
    total += Cost(5, 5)
    assert total == Cost(15, 9, 1)
    assert total.blocked == 5
    assert Cost(1, 2).blocked == 0


def test_a_cost_includes_the_cost_of_inner_calls():
    meter = Meter()
    (_, inner, inner_began), outer, outer_began = meter.measure(meter.measure, sum, [1, 2])
    costs = cost_of(inner), cost_of(outer)
    assert outer_began <= inner_began <= inner_began + inner[0] <= outer_began + outer[0]
    for one, other in zip(*map(astuple, costs), strict=True):
        assert 0 <= one <= other


def test_a_task_not_measured_in_full_has_the_shares_of_the_last_one():
    assert Cost(100, 40, 20, 10, 8).over(50) == Cost(50, 20, 10, 5, 4)
    assert Cost(100, 40, 20, 10, 8).over(100) == Cost(100, 40, 20, 10, 8)
    assert Cost(0, 0).over(7) == Cost(7, 0)


@pytest.fixture
def readings(monkeypatch):
    """The readings of the threads' clocks, a list that grows with each reading; the last may be changed."""
    told = [(0, 0, 0, 0, 0)]

    def thread_times():
        told.append(told[-1])
        return told[-1]

    monkeypatch.setattr("penstock.engine.tasks.cost.thread_times", thread_times)
    return told


def is_in_full(meter, readings, reads=0):
    """Return whether the next task, which reads that many blocks from a disk, is measured in full."""
    before = len(readings)

    def make():
        readings[-1] = (*readings[-1][:4], readings[-1][4] + reads)

    _, took, _ = meter.measure(make)
    in_full = len(readings) > before
    assert not in_full or cost_of(took).reads == reads
    return in_full


def test_a_task_is_never_without_a_core_for_longer_than_it_lasts(readings):
    def lose_the_core_between_two_clocks():
        readings[-1] = (100, 40, 5_000, 0, 0)

    _, took, _ = Meter().measure(lose_the_core_between_two_clocks)
    assert cost_of(took) == Cost(100, 40, starved=60)


def test_the_first_tasks_are_measured_in_full_and_later_a_sample(readings):
    meter = Meter()
    measured = [is_in_full(meter, readings) for _ in range(FULLY + 10 * EVERY)]
    assert all(measured[:FULLY])
    assert sum(measured) == FULLY + 10


def test_after_a_disk_read_several_tasks_are_measured_in_full_again(readings):
    meter = Meter()
    assert all(is_in_full(meter, readings) for _ in range(FULLY))
    skipped = 0
    while not is_in_full(meter, readings, reads=8):
        skipped += 1
    assert 0 < skipped < EVERY
    assert all(is_in_full(meter, readings) for _ in range(FULLY))
    assert not is_in_full(meter, readings)


def test_the_exception_of_a_task_is_raised_and_the_next_task_is_measured():
    meter = Meter()
    with pytest.raises(ZeroDivisionError):
        meter.measure(divmod, 1, 0)
    assert meter.measure(divmod, 7, 2)[0] == (3, 1)


@pytest.mark.parametrize(
    ("waits", "looks", "is_sure"), [(4, 8, False), (4, 16, False), (12, 16, True), (50, 100, True)]
)
def test_few_waits_for_the_gil_are_a_coincidence(waits, looks, is_sure, monkeypatch):
    seen = Contention()
    assert seen.share == 0
    told = iter([LONG_WAIT_FOR_GIL + 1] * waits + [0] * (looks - waits))
    monkeypatch.setattr("penstock.engine.tasks.cost.wait_for_gil", lambda: next(told))
    for _ in range(looks):
        seen.look()
    assert (seen.share >= WANTED) is is_sure
    assert seen.share < waits / looks

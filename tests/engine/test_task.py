from __future__ import annotations

from dataclasses import astuple

import numpy as np
import pytest
from penstock.engine.compile import compiled
from penstock.engine.observer import Unobserved
from penstock.engine.task import EVERY, FULLY, Cost, Listed, Meter, make_listed, make_stacked

import penstock as ps


def program_of(ds):
    return compiled(ds._plan, np.empty, Unobserved())


ROWS = np.array([4, 2], np.int64)


def test_a_task_writes_into_the_memory_it_is_given():
    out = [np.zeros(2, np.int64)]
    made = make_stacked(program_of(ps.Dataset.range(9).map(lambda x: x * 10)), ROWS, out, np.empty, Meter())
    assert made.in_place
    assert out[0].tolist() == [40, 20]
    assert made.cost.wall > 0


def test_a_task_whose_elements_do_not_fit_there_has_its_own():
    out = [np.zeros(2, np.int32)]
    made = make_stacked(program_of(ps.Dataset.range(9)), ROWS, out, np.empty, Meter())
    assert not made.in_place
    assert made.arrays[0].tolist() == [4, 2]
    assert out[0].tolist() == [0, 0]


def test_elements_one_by_one():
    assert make_listed(program_of(ps.Dataset.range(9)), ROWS, Meter()).elements == [4, 2]


def test_costs_add_up():
    total = Cost(10, 4, 1)
    total += Cost(5, 5)
    assert total == Cost(15, 9, 1)
    assert total.blocked == 5
    assert Cost(1, 2).blocked == 0


def test_a_cost_is_what_has_passed():
    meter = Meter()
    (_, inner), outer = meter.measure(meter.measure, sum, [1, 2])
    costs = Listed([], inner).cost, Listed([], outer).cost
    for one, other in zip(*map(astuple, costs), strict=True):
        assert 0 <= one <= other


def test_a_task_that_is_not_measured_in_full_has_the_shares_of_the_last_one_that_was():
    assert Cost(100, 40, 20, 10, 8).over(50) == Cost(50, 20, 10, 5, 4)
    assert Cost(100, 40, 20, 10, 8).over(100) == Cost(100, 40, 20, 10, 8)
    assert Cost(0, 0).over(7) == Cost(7, 0)


@pytest.fixture
def readings(monkeypatch):
    """What threads are told that they have taken, as a list that grows with each reading; the last may be changed."""
    told = [(0, 0, 0, 0, 0)]

    def thread_times():
        told.append(told[-1])
        return told[-1]

    monkeypatch.setattr("penstock.engine.task.thread_times", thread_times)
    return told


def is_in_full(meter, readings, reads=0):
    """Whether the next task is measured in full, during which the thread reads so many blocks from a disk."""
    before = len(readings)

    def make():
        readings[-1] = (*readings[-1][:4], readings[-1][4] + reads)

    _, took = meter.measure(make)
    in_full = len(readings) > before
    assert not in_full or Listed([], took).cost.reads == reads
    return in_full


def test_the_first_tasks_are_measured_in_full_and_then_one_of_some(readings):
    meter = Meter()
    measured = [is_in_full(meter, readings) for _ in range(FULLY + 10 * EVERY)]
    assert all(measured[:FULLY])
    assert sum(measured) == FULLY + 10


def test_after_one_that_read_from_a_disk_as_many_are_measured_in_full_as_at_first(readings):
    meter = Meter()
    assert all(is_in_full(meter, readings) for _ in range(FULLY))
    skipped = 0
    while not is_in_full(meter, readings, reads=8):
        skipped += 1
    assert 0 < skipped < EVERY
    assert all(is_in_full(meter, readings) for _ in range(FULLY))
    assert not is_in_full(meter, readings)


def test_what_a_task_raises_is_raised_and_the_next_is_measured():
    meter = Meter()
    with pytest.raises(ZeroDivisionError):
        meter.measure(divmod, 1, 0)
    assert meter.measure(divmod, 7, 2)[0] == (3, 1)

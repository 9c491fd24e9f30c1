from __future__ import annotations

from dataclasses import astuple

import numpy as np

import penstock as ps
from penstock.engine.compile import compiled
from penstock.engine.task import Cost, cost_since, make_listed, make_stacked
from penstock.kernels.clocks import thread_times


def program_of(ds):
    return compiled(ds._plan, np.empty, lambda node, program: program)


ROWS = np.array([4, 2], np.int64)


def test_a_task_writes_into_the_memory_it_is_given():
    out = [np.zeros(2, np.int64)]
    made = make_stacked(program_of(ps.Dataset.range(9).map(lambda x: x * 10)), ROWS, out, np.empty)
    assert made.in_place
    assert out[0].tolist() == [40, 20]
    assert made.cost.wall > 0


def test_a_task_whose_elements_do_not_fit_there_has_its_own():
    out = [np.zeros(2, np.int32)]
    made = make_stacked(program_of(ps.Dataset.range(9)), ROWS, out, np.empty)
    assert not made.in_place
    assert made.arrays[0].tolist() == [4, 2]
    assert out[0].tolist() == [0, 0]


def test_elements_one_by_one():
    assert make_listed(program_of(ps.Dataset.range(9)), ROWS).elements == [4, 2]


def test_costs_add_up():
    total = Cost(10, 4, 1)
    total += Cost(5, 5)
    assert total == Cost(15, 9, 1)
    assert total.blocked == 5
    assert Cost(1, 2).blocked == 0


def test_a_cost_is_what_has_passed():
    cost, earlier = cost_since(thread_times()), cost_since((0, 0, 0, 0, 0))
    for one, other in zip(astuple(cost), astuple(earlier), strict=True):
        assert 0 <= one <= other

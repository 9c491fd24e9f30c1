"""The plans that a worker keeps, and the bytes that their caches may keep together."""

from __future__ import annotations

import pickle

import numpy as np

import penstock as ps
from penstock.elements.chunks.chunk import Items
from penstock.engine.tasks.observer import Unobserved
from penstock.engine.tasks.task import Task
from penstock.engine.tasks.works import RowWork
from penstock.engine.workers.handed_in.pickled import MOST_PICKLED, pickled_plan
from penstock.engine.workers.handed_in.remote import LoadedPlans
from penstock.plan.flow import Piece

D = ps.Dataset
KB = 1 << 10
ROWS = np.arange(10)


def plan_of(ds, cache_bytes=100 * KB):
    plan = pickled_plan(RowWork(ds._plan, np.empty, Unobserved()), Unobserved())
    plan.cache_bytes = cache_bytes
    return plan


def received(plan):
    return pickle.loads(pickle.dumps(plan.to()))


def cached(at):
    return D.range(10).map(lambda x: np.full(10 * KB, x + at, np.uint8)).cache()


def make(loaded, plan):
    plan = received(plan)
    loaded.tidy(plan)
    work, _ = loaded.get(plan)
    return work.make(Task(0, 10, Piece(Items([]), ROWS)))


def test_a_plan_is_loaded_once():
    loaded, plan = LoadedPlans(), plan_of(D.range(3))
    assert loaded.get(received(plan)) is loaded.get(received(plan))
    assert loaded.loads == 1


def test_the_caches_of_all_plans_keep_what_the_run_of_the_last_task_allows():
    loaded, first, second = LoadedPlans(), plan_of(cached(0)), plan_of(cached(1))
    make(loaded, first)
    assert 80 * KB <= loaded.budget.held["cache"] <= 100 * KB
    make(loaded, second)
    assert loaded.budget.held["cache"] <= 100 * KB
    assert any("cache() keeps 0 elements" in note for note in loaded.budget.said())
    second.cache_bytes = 200 * KB
    make(loaded, second)
    assert 160 * KB <= loaded.budget.held["cache"] <= 200 * KB


def test_the_caches_of_a_plan_that_nobody_has_any_longer_are_let_go():
    loaded, first, other = LoadedPlans(), plan_of(cached(0)), plan_of(D.range(3))
    make(loaded, first)
    loaded.get(received(other))
    kept = loaded.budget.held["cache"]
    loaded.tidy(received(other))
    assert loaded.budget.held["cache"] == kept
    first.remove()
    loaded.tidy(received(other))
    assert loaded.budget.held["cache"] == 0
    loaded.get(received(other))
    assert loaded.loads == 2


def test_plans_of_another_process_stay():
    loaded, mine = LoadedPlans(), plan_of(D.range(3))
    others = received(plan_of(cached(0)))
    others = others._replace(key=b"another!" + others.key[8:])
    loaded.get(others)
    loaded.get(received(plan_of(D.range(4))))
    loaded.tidy(received(mine))
    loaded.get(others)
    assert loaded.loads == 2


def test_the_plans_used_last_are_kept():
    loaded = LoadedPlans()
    plans = [plan_of(D.range(count)) for count in range(1, MOST_PICKLED + 2)]
    for plan in plans:
        loaded.get(received(plan))
    loaded.get(received(plans[-1]))
    assert loaded.loads == MOST_PICKLED + 1
    loaded.get(received(plans[0]))
    assert loaded.loads == MOST_PICKLED + 2

"""Plans as they travel with tasks: one for a dataset, as long as its functions read the same values."""

from __future__ import annotations

import gc
import os
import pickle

import numpy as np
import pytest

import penstock as ps
from penstock.engine.tasks.observer import Unobserved
from penstock.engine.tasks.works import PieceWork, RowWork
from penstock.engine.workers.handed_in import pickled
from penstock.engine.workers.handed_in.pickled import KEY, MOST_PICKLED, OWNER, PlansInUse, pickled_plan, plans_in_use

D = ps.Dataset


def plan_of(ds, known, kind=RowWork):
    return pickled_plan(kind(ds._plan, np.empty, Unobserved()), Unobserved(), known)


def told(plan):
    keys = pickle.loads(pickle.dumps(plan.to())).in_use
    return {keys[at : at + KEY] for at in range(0, len(keys), KEY)}


@pytest.mark.parametrize("rows", [10, 50_000])
def test_a_later_run_sends_the_same_plan_again(rows):
    known = []
    ds = D.from_tensor_slices(np.arange(rows)).map(lambda x: x)
    first = plan_of(ds, known)
    assert (first.file is None) == (rows == 10)
    assert plan_of(ds, known) is first
    assert plan_of(ds, known, PieceWork) is not first
    assert len(known) == 2


def test_a_plan_whose_function_reads_another_value_replaces_the_one_before():
    known, values = [], {"factor": 2}
    ds = D.range(5).map(lambda x: x * values["factor"])
    first = plan_of(ds, known)
    values["factor"] = 3
    second = plan_of(ds, known)
    assert known == [second]
    assert first.key != second.key


def test_the_last_plans_are_known():
    known = []
    plans = [plan_of(D.range(count), known) for count in range(1, MOST_PICKLED + 3)]
    assert known == plans[2:]


@pytest.mark.parametrize("rows", [10, 50_000])
def test_workers_are_told_of_a_plan_as_long_as_somebody_has_it(rows):
    plan, other = plan_of(D.from_tensor_slices(np.arange(rows)), []), plan_of(D.range(3), [])
    assert {plan.key, other.key} <= told(other)
    key, file = plan.key, plan.file
    del plan
    gc.collect()
    assert key not in told(other)
    assert file is None or file.closed


def test_too_many_keys_say_nothing(monkeypatch):
    plan = plan_of(D.range(3), [])
    monkeypatch.setattr(pickled, "MOST_TOLD", 0)
    assert told(plan) == set()


def test_a_forked_child_has_keys_of_its_own_and_leaves_those_of_its_parent(monkeypatch):
    plan, keys = plan_of(D.range(3), []), PlansInUse()
    mine = keys.new_key()
    child = os.getpid() + 1
    monkeypatch.setattr(os, "getpid", lambda: child)
    assert keys.new_key()[:OWNER] != mine[:OWNER]
    plan.remove()
    assert plan.key in plans_in_use.told()


@pytest.mark.parametrize("rows", [3, 30_000])
def test_an_executor_that_keeps_plans_receives_each_one_once(rows):
    class Keeping:
        def __init__(self):
            self.kept = []

        def keep(self, data):
            self.kept.append(data)
            return Kept(data)

    plan, executor = plan_of(D.from_tensor_slices(np.arange(rows)), []), Keeping()
    sent = [plan.to(executor) for _ in range(3)]
    assert len(executor.kept) == 1
    assert all(each.data is None and each.kept is sent[0].kept for each in sent)
    assert list(sent[0].load()[2].source.columns[0]) == list(range(rows))
    assert (plan.to().data is None) == (rows > 3)  # of another executor
    plan.release()  # as a run does at its end
    assert plan.to(executor).kept is not sent[0].kept
    assert len(executor.kept) == 2


class Kept:
    def __init__(self, data):
        self._data = data

    def load(self):
        return self._data

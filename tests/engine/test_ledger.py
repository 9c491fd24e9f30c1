from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from penstock.engine.advice import Advisor
from penstock.engine.ledger import Ledger, Made
from penstock.engine.parcel import Parcel
from penstock.engine.run import Run
from penstock.engine.task import Cost, Listed, Stacked

import penstock as ps
from penstock.elements.nested.structure import LEAF
from penstock.engine.tuning.tuner import Tuner


def parcel_of(low, high, costs, rows=4):
    parcel = Parcel(low, high, np.arange(low * rows, high * rows), len(costs))
    for piece, cost in enumerate(costs):
        values = np.zeros(len(parcel.rows[piece]), np.int16)
        parcel.fill(piece, Stacked(LEAF, [values], in_place=False, took=(cost, Cost(cost, cost))))
    return parcel


def test_what_is_made_is_counted_at_once():
    ledger = Ledger(Tuner(None), Advisor(heard=False))
    ledger.note(parcel_of(0, 3, [10]))
    assert ledger.made == Made(3, 12, 24)
    ledger.note(parcel_of(3, 4, [10, 10]))
    assert ledger.made == Made(4, 16, 32)


def test_elements_one_by_one_take_no_memory_of_batches():
    ledger = Ledger(Tuner(None), Advisor(heard=False))
    parcel = Parcel(0, 2, np.arange(2), 1)
    parcel.fill(0, Listed([1, 2], (7, Cost(7, 5))))
    ledger.note(parcel)
    assert (ledger.made, ledger.spent) == (Made(2, 2, 0), Cost(7, 5))


@given(st.lists(st.tuples(st.lists(st.integers(1, 1000), min_size=1, max_size=3), st.booleans()), max_size=10))
def test_a_ledger_that_settles_now_and_then_knows_what_one_does_that_always_settles(told):
    ledgers = [Ledger(Tuner(None), Advisor(heard=False)) for _ in range(2)]
    for item, (costs, settles) in enumerate(told):
        for ledger in ledgers:
            ledger.note(parcel_of(item, item + 1, costs))
        ledgers[0].settle(8)
        if settles:
            ledgers[1].settle(8)
    assert ledgers[0].spent == ledgers[1].spent
    assert ledgers[0].made == ledgers[1].made
    for ledger in ledgers:
        ledger.settle(8)
    assert ledgers[0]._tuner == ledgers[1]._tuner


def test_nothing_is_told_twice():
    tuner = Tuner(None)
    ledger = Ledger(tuner, Advisor(heard=False))
    ledger.note(parcel_of(0, 1, [10, 20]))
    for _ in range(2):
        ledger.settle(8)
        assert (tuner.looks, tuner.item_bytes, ledger.spent) == (2, 8, Cost(30, 30))


@pytest.mark.parametrize("workers", [None, 2])
def test_a_run_that_is_over_has_told_all(workers):
    ds = ps.Dataset.range(100).map(lambda x: x, vectorized=False, num_parallel_calls=workers).batch(3)
    with ds.iterator() as it:
        assert len(list(it)) == 34
        run = it._run
    assert isinstance(run, Run)
    assert run.made == Made(34, 100, 800)
    assert run.tuner.looks > 0
    assert not run._ledger._pending

"""The first batch of a run: several threads make it as they make later ones, if that pays."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

import penstock as ps
from penstock.engine.tasks.cost import Cost
from penstock.engine.tuning.tuner import LONG_LOOK, Tuner
from tests.workers import PATIENCE

D = ps.Dataset
WORKERS = 8


@pytest.mark.parametrize("options", [{"workers": WORKERS}, {"executor": "threads", "workers": WORKERS}])
def test_the_requested_workers_share_the_first_batch(options):
    barrier = threading.Barrier(WORKERS)

    def meet(x):
        if x < WORKERS * 8 and x % 8 == 0:  # the first row of each eighth of the first batch
            barrier.wait(PATIENCE)
        return x

    it = D.range(WORKERS * 8 * 3).map(meet).batch(WORKERS * 8).with_options(ps.Options(**options)).iterator()
    assert next(it).tolist() == list(range(WORKERS * 8))
    it.close()


def test_a_run_that_begins_inline_leaves_it_within_the_first_batch():
    seen = []

    def slow(x):
        seen.append(threading.get_ident())
        time.sleep(0.01)  # what is waited for: a disk, say
        return x

    with D.range(192).map(slow).batch(64).iterator() as it:
        assert next(it).tolist() == list(range(64))
        assert seen[0] == threading.get_ident()
        assert len(set(seen[:64])) > 2
        assert "thread" in it.stats().mode


def test_an_error_in_the_first_batch_is_the_same_however_it_is_cut():
    def fails(x):
        if x == 1:
            raise LookupError("not 1")
        return x

    for options in ({}, {"executor": "inline"}, {"workers": 4}):
        with pytest.raises(LookupError, match="not 1") as caught:
            list(D.range(64).map(fails).batch(64).with_options(ps.Options(**options)))
        assert "in map(fails), at row 1" in caught.value.__notes__


def test_errors_about_elements_that_do_not_fit_do_not_depend_on_the_cut():
    said = set()
    for options in ({}, {"executor": "inline"}, {"workers": 4}):
        ds = D.range(64).map(lambda x: np.zeros(3 if x < 40 else 2)).batch(64)
        with pytest.raises(ps.errors.ElementError) as caught:
            list(ds.with_options(ps.Options(**options)))
        said.add(str(caught.value))
    assert len(said) == 1


def test_threads_pay_for_the_rest_of_a_batch_only_if_that_takes_long():
    ms = 1_000_000
    tuner = Tuner(None)
    assert tuner.pays_to_split(Cost(30_000, 30_000), 1, 63) is False
    assert tuner.pays_to_split(Cost(10 * ms, ms), 1, 63) is None  # it may have opened a file
    tuner.observe(Cost(10 * ms, ms), 1 / 64)
    tuner.observe(Cost(10 * ms, ms), 1 / 64)
    assert tuner.pays_to_split(Cost(10 * ms, ms), 1, 62) is True
    assert tuner.pays_to_split(Cost(10 * ms, ms), 62, 1) is False


def test_calls_that_cost_the_same_for_any_number_of_rows_start_no_threads():
    """A traced function costs some 300 µs a call, and up to 1 ms at its first call with several rows."""
    tuner, left, rows, pays = Tuner(None), 256, 1, None
    for cost in (Cost(us * 1000, us * 1000) for us in (330, 120, 1000, 320, 320)):
        tuner.observe(cost, rows / 256)
        left -= rows
        pays = tuner.pays_to_split(cost, rows, left)
        if pays is not None:
            break
        rows = max(2 * LONG_LOOK * rows // cost.wall, 1)
    assert pays is False


@pytest.mark.parametrize(("first", "second"), [(30, 0.4), (0.4, 0.4)])
def test_rows_that_are_slow_only_because_they_are_the_first_start_no_threads(first, second):
    tuner = Tuner(None)
    costs = [Cost(int(ms * 1e6), int(ms * 1e6)) for ms in (first, second, 0.004)]
    answers = []
    for cost in costs:
        tuner.observe(cost, 1 / 256)
        answers.append(tuner.pays_to_split(cost, 1, 255))
    assert answers == [None, None, False]


def test_the_cost_of_the_first_rows_does_not_count_as_the_cost_of_a_batch(monkeypatch):
    monkeypatch.setattr(Tuner, "pays_to_split", lambda *_: False)  # as they might on a busy machine
    monkeypatch.setattr(Tuner, "threads_pay", lambda _: False)
    with D.range(1000).map(str).batch(100).iterator() as it:
        next(it)
        assert it._run.tuner.looks <= 1

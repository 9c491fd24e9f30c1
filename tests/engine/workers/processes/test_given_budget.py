"""Worker processes under a given budget: they begin no task beyond it, whatever the elements turn out to take."""

from __future__ import annotations

import multiprocessing
import os
import threading
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from penstock.engine.workers.processes.pool import pool_for
from penstock.engine.workers.processes.starting import PoolSetup
from penstock.engine.workers.window import Window

BUDGET = 2_000_000
WORKERS = 2
SMALLEST, LARGEST = 1_000, 500_000
D = ps.Dataset
RUNS = st.lists(
    st.tuples(st.integers(1, 40), st.integers(SMALLEST, LARGEST) | st.just(SMALLEST)), min_size=1, max_size=6
)


@pytest.fixture(scope="module", params=["processes", "pool"])
def options(request):
    """Options with two workers that have begun."""
    if request.param == "processes":
        pool = pool_for(PoolSetup(WORKERS, budget=BUDGET), BUDGET)
        assert pool.crew.begun.wait(90)
        yield ps.Options(executor="processes", workers=WORKERS, memory_budget=BUDGET)
        pool.close()
        return
    with ProcessPoolExecutor(WORKERS, multiprocessing.get_context("forkserver")) as pool:
        yield ps.Options(executor=pool, memory_budget=BUDGET)


class Waiting:
    """The bytes of results that wait for the consumer, as the windows count them: the most at a time."""

    def __init__(self, monkeypatch):
        self.most = 0
        finish = Window.finish

        def counted(window, job, number, result):
            finish(window, job, number, result)
            self.most = max(self.most, sum(each.nbytes for each in list(window._jobs) if not each.missing))

        monkeypatch.setattr(Window, "finish", counted)


def elements_of(runs, kind):
    sizes = np.repeat([size for _, size in runs], [count for count, _ in runs])
    made = D.range(len(sizes)).map(lambda x: np.full(sizes[int(x)], int(x) % 251, np.uint8))
    ds = {
        "rows": made,
        "stream": made.filter(lambda x: True),
        "given": D.from_generator(lambda: (np.full(size, 1, np.uint8) for size in sizes)).map(lambda x: x + 1),
    }[kind]
    return ds, sizes


@pytest.mark.parametrize("kind", ["rows", "stream", "given"])
@given(runs=RUNS)
@settings(max_examples=5)
def test_what_waits_is_within_the_budget_but_for_an_element_of_each_worker(kind, options, runs):
    """And the element that the consumer waits for, which is made in any case."""
    ds, sizes = elements_of(runs, kind)
    with pytest.MonkeyPatch.context() as patch:
        waiting, got = Waiting(patch), []
        for x in ds.prefetch(50).with_options(options):
            if len(got) % 16 == 8:
                threading.Event().wait(0.1)  # results wait meanwhile, as many as may begin
            got.append(len(x))
    assert got == sizes.tolist()
    assert waiting.most <= BUDGET + (WORKERS + 1) * (LARGEST + 1000) * (2 if kind == "given" else 1)  # and its input


def test_elements_that_are_too_large_to_travel_within_the_budget_are_made_in_this_process(options):
    sizes = [SMALLEST] * 50 + [LARGEST, SMALLEST] * 20
    ds = D.from_generator(lambda: (np.full(size, 1, np.uint8) for size in sizes)).map(lambda x: (len(x), os.getpid()))
    got = list(ds.with_options(options))
    assert [size for size, _ in got] == sizes
    assert {pid for size, pid in got if size == LARGEST} == {os.getpid()}
    assert {pid for size, pid in got if size == SMALLEST} - {os.getpid()}


def test_tasks_that_were_to_make_small_elements_wait_once_those_before_are_large(options):
    def make(x):
        threading.Event().wait(0.5 if x == 100 else 0.003)
        return np.zeros(SMALLEST if x < 100 else LARGEST, np.uint8)

    with pytest.MonkeyPatch.context() as patch:
        waiting = Waiting(patch)
        got = [len(x) for x in D.range(160).map(make).prefetch(50).with_options(options)]
    assert got == [SMALLEST] * 100 + [LARGEST] * 60
    assert LARGEST <= waiting.most <= BUDGET + (WORKERS + 1) * (LARGEST + 1000)


def test_a_task_of_elements_that_suddenly_are_large_ends_before_it_makes_them_all(options):
    """Its elements are made again one by one, as after an error, and all later tasks make one element."""
    sizes = [SMALLEST] * 3000 + [LARGEST] * 60

    def make(x):
        return np.zeros(sizes[int(x)], np.uint8)

    with pytest.MonkeyPatch.context() as patch:
        waiting = Waiting(patch)
        it = D.range(len(sizes)).map(make).filter(lambda x: True).with_options(options).iterator()
        assert [len(x) for x in it] == sizes
    assert waiting.most <= BUDGET + (WORKERS + 1) * (LARGEST + 1000)

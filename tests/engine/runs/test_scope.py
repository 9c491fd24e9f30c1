"""The things that the stages of one plan share: settings, tuners and memory."""

from __future__ import annotations

import threading
from concurrent.futures import Executor, ThreadPoolExecutor
from time import perf_counter_ns

import numpy as np
import pytest

from penstock import Dataset, Options
from penstock.engine.runs.scope import CarryOver
from penstock.engine.runs.session import Session
from penstock.engine.tasks.cost import Cost
from penstock.engine.tasks.observer import Unobserved
from penstock.engine.tasks.works import PieceWork
from penstock.engine.tuning.settings import settings_of
from tests.workers import await_workers

PLAN = Dataset.range(9).filter(lambda x: True)._plan


@pytest.fixture
def scope_of():
    scopes = []

    def make(carry_over=None, **options):
        settings = settings_of(Dataset.range(1).with_options(Options(**options))._plan)
        scopes.append(Session(settings, carry_over or CarryOver(), Unobserved()).scope())
        return scopes[-1]

    yield make
    for scope in scopes:
        scope.session.close()
    await_workers()


def test_a_stage_works_inline_until_threads_pay(scope_of):
    scope = scope_of()
    tuner = scope.tuner()
    assert scope.is_inline(tuner)
    assert scope.session.mode == "inline"
    for _ in range(3):
        tuner.observe(Cost(wall=10_000_000, cpu=10_000_000), 1)
    assert not scope.is_inline(tuner)


@pytest.mark.parametrize(
    ("options", "inline"), [({"executor": "inline"}, True), ({"executor": "threads"}, False), ({"workers": 2}, False)]
)
def test_the_requested_executor_and_workers_are_used(options, inline, scope_of):
    scope = scope_of(**options)
    assert scope.is_inline(scope.tuner()) is inline


def test_stages_of_the_next_run_know_the_costs_measured_in_the_last(scope_of):
    carry_over = CarryOver()
    scope = scope_of(carry_over)
    scope.tuner().observe(Cost(100, 100), 1)
    scope.tuner().observe(Cost(900, 900), 1)
    later = scope_of(carry_over)
    assert [later.tuner().item_wall, later.tuner().item_wall, later.tuner().looks] == [100, 900, 0]


def test_inner_datasets_share_workers_and_end(scope_of):
    scope = scope_of(executor="threads", workers=2)
    session, inner = scope.session, scope.inner()
    assert inner.session is session
    tuner = inner.tuner()
    session.workers(PieceWork(PLAN, np.empty, Unobserved()), tuner, Unobserved())
    assert session.mode == "2 threads"
    tuner.climb.threads = 3
    session.resize()
    assert session.threads.workers == 3
    inner.begin_again()
    assert inner.tuner() is tuner
    assert session.tuners == []


def test_inner_datasets_run_inline_if_plans_would_have_to_travel(scope_of):
    class Elsewhere(Executor):
        pass

    inner = scope_of(executor=Elsewhere()).inner()
    tuner = inner.tuner()
    for _ in range(5):
        tuner.observe(Cost(10**9, 10**9), 1)
    assert inner.is_inline(tuner)


def test_inner_datasets_run_in_a_pool_of_threads_once_that_pays(scope_of):
    with ThreadPoolExecutor(1) as executor:
        inner = scope_of(executor=executor).inner()
        tuner = inner.tuner()
        for _ in range(5):
            tuner.observe(Cost(1_000, 1_000), 1)
            assert inner.is_inline(tuner)
        expensive = inner.tuner()
        for _ in range(3):
            expensive.observe(Cost(10**7, 10**6), 1)
        assert not inner.is_inline(expensive)


def test_alternating_streams_share_tuners_and_count_their_turns(scope_of):
    scope = scope_of()
    first = scope.tuner()
    assert [(scope.tuner() is scope.tuners[1], scope.turns) for _ in scope.alike(4)] == [(True, 4)] * 4
    assert scope.turns == 1
    assert scope.tuner() is scope.tuners[2]
    assert scope.tuners[0] is first


def test_a_pool_of_threads_yields_the_same_elements_of_inner_datasets():
    def slow(x, *, rng):
        deadline = perf_counter_ns() + 1_000_000
        while perf_counter_ns() < deadline:
            pass
        threads.add(threading.get_ident())
        return x + rng.random()

    threads = set()
    for combine in (Dataset.flat_map, Dataset.interleave):
        ds = combine(Dataset.range(4), lambda x: Dataset.range(x, x + 12).map(slow).filter(lambda x: True))
        wanted = list(ds.with_options(Options(executor="inline", seed=1)).iterator(epoch=0))
        threads.clear()
        with ThreadPoolExecutor(2) as executor:
            assert list(ds.with_options(Options(executor=executor, seed=1)).iterator(epoch=0)) == wanted
        assert len(threads) > 1

"""What all stages of a run share: workers, windows, tuners and the end."""

from __future__ import annotations

import gc
import threading
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from time import perf_counter_ns

import numpy as np
import pytest
from penstock.engine.legacy import Legacy
from penstock.engine.observer import Unobserved
from penstock.engine.settings import settings_of
from penstock.engine.spreader import Spreader
from penstock.engine.task import Cost
from penstock.engine.workshop import Workshop

from penstock import Dataset, Options
from penstock.core.errors import ClosedError
from tests.workers import await_workers

PLAN = Dataset.range(9).filter(lambda x: True)._plan


@pytest.fixture
def shop_with():
    shops = []

    def make(legacy=None, **options):
        settings = settings_of(Dataset.range(1).with_options(Options(**options))._plan)
        shops.append(Workshop(settings, legacy or Legacy(), Unobserved()))
        return shops[-1]

    yield make
    for shop in shops:
        shop.close()
    await_workers()


def crew_of(shop, tuner=None):
    return shop.crew(Spreader(PLAN, np.empty, Unobserved()), tuner or shop.tuner(), Unobserved())


def test_it_works_inline_until_threads_pay(shop_with):
    shop = shop_with()
    tuner = shop.tuner()
    assert shop.is_inline(tuner)
    assert shop.mode == "inline"
    for _ in range(3):
        tuner.observe(Cost(wall=10_000_000, cpu=10_000_000), 1)
    assert not shop.is_inline(tuner)


@pytest.mark.parametrize(
    ("options", "inline"), [({"executor": "inline"}, True), ({"executor": "threads"}, False), ({"workers": 2}, False)]
)
def test_what_was_asked_for_is_done(options, inline, shop_with):
    shop = shop_with(**options)
    assert shop.is_inline(shop.tuner()) is inline


def test_stages_share_threads_as_many_as_the_one_that_wants_most(shop_with):
    shop = shop_with(executor="threads")
    few, many = shop.tuner(), shop.tuner()
    few.workers, many.workers = 1, 3
    crew_of(shop, few)
    assert shop.mode == "1 thread"
    crew_of(shop, many)
    assert shop.mode == "3 threads"
    many.climb.threads = 2
    shop.resize()
    assert shop.mode == "2 threads"


def test_stages_of_the_next_run_know_what_those_of_the_last_knew(shop_with):
    legacy = Legacy()
    shop = shop_with(legacy)
    shop.tuner().observe(Cost(100, 100), 1)
    shop.tuner().observe(Cost(900, 900), 1)
    later = shop_with(legacy)
    assert [later.tuner().item_wall, later.tuner().item_wall, later.tuner().looks] == [100, 900, 0]


def test_datasets_that_are_elements_have_the_same_workers_and_end(shop_with):
    shop = shop_with(executor="threads", workers=2)
    inner = shop.inner()
    window, tuner = inner.window(), inner.tuner()
    crew_of(inner, tuner)
    assert shop.mode == "2 threads"
    inner.begin_again()
    assert inner.tuner() is tuner
    inner.check_open()
    shop.close()
    with pytest.raises(ClosedError):
        inner.check_open()
    with pytest.raises(ClosedError):
        window.pop()


def test_they_work_inline_where_plans_would_have_to_travel(shop_with):
    class Elsewhere(Executor):
        pass

    inner = shop_with(executor=Elsewhere()).inner()
    tuner = inner.tuner()
    for _ in range(5):
        tuner.observe(Cost(10**9, 10**9), 1)
    assert inner.is_inline(tuner)


def test_they_work_in_a_pool_of_threads_once_that_pays(shop_with):
    with ThreadPoolExecutor(1) as executor:
        inner = shop_with(executor=executor).inner()
        tuner = inner.tuner()
        for _ in range(5):
            tuner.observe(Cost(1_000, 1_000), 1)
            assert inner.is_inline(tuner)
        dear = inner.tuner()
        for _ in range(3):
            dear.observe(Cost(10**7, 10**6), 1)
        assert not inner.is_inline(dear)


def test_closed_it_wakes_drops_and_ends_whatever_there_is(shop_with):
    shop = shop_with(executor="threads", workers=2)
    crew_of(shop)
    calls, windows = [], [shop.window(), shop.window()]
    shop.at_close(lambda: calls.append("stopped"))
    shop.check_open()
    shop.close()
    shop.close()
    assert calls == ["stopped"]
    for window in windows:
        with pytest.raises(ClosedError):
            window.pop()
    with pytest.raises(ClosedError):
        shop.check_open()


def test_what_is_asked_for_after_the_end_is_at_its_end(shop_with):
    shop = shop_with(executor="threads", workers=2)
    shop.close()
    with pytest.raises(ClosedError):
        shop.window().pop()
    calls = []
    shop.at_close(lambda: calls.append("stopped"))
    assert calls == ["stopped"]
    crew_of(shop)  # of threads that end at once, as the fixture looks for
    shop.tuners[0].climb.threads = 5
    shop.resize()


def test_windows_that_nobody_holds_are_forgotten(shop_with):
    shop = shop_with()
    for _ in range(100):
        shop.window()
    gc.collect()
    assert len(shop._windows) <= 1


class Far(Executor):
    """One that shares no memory, as far as anyone can tell."""

    def submit(self, fn, /, *args, **kwargs):
        future = Future()
        future.set_result(fn(*args, **kwargs))
        return future


def test_an_executor_that_was_handed_in_stays_open(shop_with):
    with ThreadPoolExecutor(1) as executor:
        shop = shop_with(executor=executor)
        assert shop.mode == "ThreadPoolExecutor"
        assert crew_of(shop).shares_gil
        shop.close()
        assert executor.submit(len, "open").result() == 4


def test_plans_travel_to_one_that_shares_no_memory(shop_with):
    shop = shop_with(executor=Far())
    assert not crew_of(shop).shares_gil
    assert shop.mode == "Far"


def test_in_a_forked_child_it_does_without_the_parents_locks_and_workers(shop_with):
    shop = shop_with(executor="threads", workers=2)
    crew_of(shop)
    threads, window, calls = shop._threads, shop.window(), []
    shop.at_close(lambda: calls.append("the parent's"))
    with shop._lock, window._changed:  # as a thread of the parent may have
        shop.after_fork()
        shop.close()
        window.close()
    assert calls == []
    threads.shutdown()


def test_the_same_plan_travels_once_for_all_streams(shop_with):
    shop, observer = shop_with(executor=Far()), Unobserved()
    again = Dataset.range(9).filter(lambda x: True)._plan

    def crew(plan):
        return shop.crew(Spreader(plan, np.empty, observer), shop.tuner(), observer)

    assert crew(PLAN) is crew(PLAN)
    assert crew(PLAN) is not crew(again)


def test_streams_that_take_turns_share_tuners_and_what_is_made_ahead(shop_with):
    shop = shop_with()
    first = shop.tuner()
    assert [(shop.tuner() is shop.tuners[1], shop.turns) for _ in shop.alike(4)] == [(True, 4)] * 4
    assert shop.turns == 1
    assert shop.tuner() is shop.tuners[2]
    assert shop.tuners[0] is first


def test_a_pool_of_threads_gives_the_same_elements_of_datasets_that_are_elements():
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

"""Caches in worker processes: on disk all fill one folder, in memory all together keep what a run may."""

from __future__ import annotations

import gc
import multiprocessing
import os
import threading
import warnings
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest

import penstock as ps
from penstock.core.errors import CacheWarning
from penstock.engine.workers.processes.pool import pool_for
from penstock.engine.workers.processes.starting import PoolSetup

OPTIONS = ps.Options(executor="processes", workers=2)
KB = 1 << 10


def told(calls, makers):
    """A function that notes each call and its process by files, and returns only once two processes have called it."""

    def noted(x):
        (calls / f"{x}-{os.urandom(8).hex()}").touch()
        (makers / str(os.getpid())).touch()
        while len(os.listdir(makers)) < 2:
            threading.Event().wait(0.01)
        return {"x": np.full(100, x), "made": os.getpid()}

    return noted


def names(calls):
    return sorted(int(each.name.partition("-")[0]) for each in calls.iterdir())


def test_worker_processes_fill_one_folder_which_any_executor_reads(pool, tmp_path):
    calls, makers, folder = tmp_path / "calls", tmp_path / "makers", tmp_path / "kept"
    calls.mkdir()
    makers.mkdir()
    ds = ps.Dataset.range(300).map(told(calls, makers)).cache(folder, version="1")
    batches = ds.shuffle(seed=1).batch(10)
    made = [batch for _ in range(2) for batch in batches.with_options(OPTIONS)]
    assert {int(pid) for batch in made for pid in batch["made"]} <= {os.getpid(), *pool.crew.pids}
    assert names(calls) == list(range(300))  # each was made once: the workers see what the others have kept
    again = list(ds.with_options(ps.Options(executor="inline")))
    assert [int(element["x"][5]) for element in again] == list(range(300))
    assert len({int(element["made"]) for element in again}) == 2
    assert names(calls) == list(range(300))


@pytest.mark.parametrize("where", ["memory", "disk"])
def test_a_cache_that_is_full_says_so_once_for_all_workers(pool, tmp_path, where):
    (makers := tmp_path / "makers").mkdir()
    (calls := tmp_path / "calls").mkdir()
    path = tmp_path / "kept" if where == "disk" else None
    ds = ps.Dataset.range(40).map(told(calls, makers)).map(lambda e: {**e, "x": np.zeros(1000, np.int64)})
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("default")
        full = ds.cache(path, limit_bytes=20 * KB).with_options(OPTIONS)
        epochs = [list(full) for _ in range(2)]
    assert [len(elements) for elements in epochs] == [40, 40]
    assert len({int(element["made"]) for element in epochs[0]} - {os.getpid()}) == 2
    assert [(each.category, each.filename) for each in shown] == [(CacheWarning, __file__)]


def test_caches_of_all_workers_together_keep_what_those_of_a_run_may(tmp_path, caplog):
    budget, count = 400 * KB, 200
    pool = pool_for(PoolSetup(2, budget=budget), budget)
    assert pool.crew.begun.wait(60)
    (calls := tmp_path / "calls").mkdir()

    def note(x):
        (calls / f"{x}-{os.urandom(8).hex()}").touch()
        return np.full(10 * KB, x, np.uint8)

    ds = ps.Dataset.range(count).map(note).cache().repeat(3)
    it = ds.with_options(ps.Options(executor="processes", workers=2, memory_budget=budget)).iterator()
    assert [int(x[-1]) for x in it] == list(range(count)) * 3
    kept = 2 * (budget // 2 // 2 // (10 * KB))  # by both workers
    assert len(names(calls)) >= 3 * count - 2 * kept
    assert any("cache() keeps" in record.getMessage() for record in caplog.records)


def cached_bytes():
    from penstock.engine.workers.handed_in.remote import loaded_plans

    return loaded_plans.budget.held["cache"]


@pytest.mark.parametrize("table", [10, 50_000], ids=["small plan", "large plan"])
def test_a_handed_in_pool_keeps_the_caches_of_living_datasets_within_the_budget_of_one_run(tmp_path, table):
    budget, count = 1000 * KB, 10
    (calls := tmp_path / "calls").mkdir()

    def note(x):
        (calls / f"{x}-{os.urandom(8).hex()}").touch()
        return np.full(10 * KB, x, np.uint8)

    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        options = ps.Options(executor=pool, memory_budget=budget)
        for number in range(8):
            values = np.arange(table) + number
            ds = ps.Dataset.from_tensor_slices(values).take(count).map(note).cache().shuffle().with_options(options)
            for _ in range(3):
                assert sorted(int(x[-1]) for x in ds) == list(range(number, number + count))
            assert len(os.listdir(calls)) == (number + 1) * count  # later epochs read what is kept
            assert pool.submit(cached_bytes).result() <= budget // 2
            del ds
            gc.collect()


def test_an_order_that_is_drawn_anew_leaves_the_caches_of_workers_as_they_are(tmp_path):
    pool = pool_for(PoolSetup(1), 1 << 28)
    assert pool.crew.begun.wait(60)
    (calls := tmp_path / "calls").mkdir()

    def note(x):
        (calls / f"{x}-{os.urandom(8).hex()}").touch()
        return x

    ds = ps.Dataset.range(30).map(note).cache().shuffle().with_options(ps.Options(executor="processes", workers=1))
    assert [sorted(map(int, ds)) for _ in range(3)] == [list(range(30))] * 3
    assert names(calls) == list(range(30))
    pool.close()


@pytest.mark.parametrize("workers", [1, 4])
def test_the_share_of_a_worker_is_told_when_it_starts(workers):
    from penstock.engine.workers.processes.starting import cache_bytes

    assert cache_bytes(PoolSetup(workers, budget=8000)) == 4000 // workers
    assert cache_bytes(PoolSetup(workers)) > 0

from __future__ import annotations

import gc

import numpy as np
import pytest

import penstock as ps
from penstock.engine.workers.processes.pool import pool_for
from penstock.engine.workers.processes.starting import PoolSetup
from penstock.memory import arena, shared_file

BUDGET = 1 << 22


def test_equal_settings_share_a_pool_as_long_as_somebody_has_it(pool):
    assert pool_for(PoolSetup(2), BUDGET) is pool
    other = pool_for(PoolSetup(1, budget=3), BUDGET)
    assert other is pool_for(PoolSetup(1, budget=3), BUDGET)
    crew = other.crew
    del other
    gc.collect()
    assert pool_for(PoolSetup(1, budget=3), BUDGET).crew is not crew


def test_a_closed_pool_is_replaced():
    setup = PoolSetup(1, budget=4)
    pool = pool_for(setup, BUDGET)
    pool.close()
    assert not pool.is_open
    assert pool_for(setup, BUDGET) is not pool


def test_the_arena_takes_at_most_half_of_the_budget():
    assert pool_for(PoolSetup(1, budget=5), BUDGET).arena.size == BUDGET // 2


def options(budget):
    return ps.Options(executor="processes", workers=1, memory_budget=budget)


def test_without_memory_a_temporary_file_is_shared_and_said_so(monkeypatch, tmp_path, caplog):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(shared_file, "available_memory", lambda: 0)
    ds = ps.Dataset.range(50).map(lambda x: np.full(1000, x)).batch(5).with_options(options(BUDGET))
    it = ds.iterator()
    assert [int(x) for batch in it for x in batch[:, -1]] == list(range(50))
    (event,) = it.stats().events
    assert event.kind == "degraded"
    assert "temporary file" in event.words
    assert "temporary file" in caplog.text
    assert list(tmp_path.iterdir()) == []


def test_without_any_shared_memory_batches_come_through_sockets(monkeypatch, caplog):
    def refuse(*_):
        raise OSError("nothing left")

    monkeypatch.setattr(arena, "SharedFile", refuse)
    setup = PoolSetup(1, budget=BUDGET + 1)
    pool = pool_for(setup, BUDGET)
    assert pool.crew.begun.wait(60)
    ds = ps.Dataset.range(60).map(lambda x: np.full(50_000, x)).batch(5).with_options(options(BUDGET + 1))
    it = ds.iterator()
    assert [int(x) for batch in it for x in batch[:, -1]] == list(range(60))
    told = "no memory is shared with the workers, so batches are copied: nothing left"
    assert [str(event) for event in it.stats().events] == [told]
    assert told in caplog.text
    assert pool.arena is None


@pytest.mark.parametrize("budget", [1, 5000])
def test_a_pool_with_a_tiny_arena_works(budget, caplog):
    pool = pool_for(PoolSetup(1, budget=budget), budget)
    assert pool.crew.begun.wait(60)
    ds = ps.Dataset.range(30).map(lambda x: np.full(1000, x))
    got = ds.with_options(ps.Options(executor="processes", workers=1)).iterator()
    assert [int(x[0]) for x in got] == list(range(30))

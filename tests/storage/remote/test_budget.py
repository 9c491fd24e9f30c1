"""Bytes that are requested ahead of tasks are a part of `Options(memory_budget=)`."""

from __future__ import annotations

import numpy as np
import pytest

import penstock as ps
from penstock.engine.runs.room import Room
from penstock.engine.runs.stage import FETCHED, Stage, Stretch
from penstock.engine.tasks.task import NOTHING, Job, Task
from penstock.plan.flow import Piece
from penstock.storage.remote.fetcher import fetcher
from tests.engine.runs.sessions import scope_with

ROWS, SIZE = 40, 1 << 18


@pytest.fixture
def ds(folder, options):
    for i in range(ROWS):
        (folder / f"{i:03}.bin").write_bytes(bytes([i]) * SIZE)
    return ps.read_files("s3://data/*.bin", storage_options=options)


@pytest.mark.parametrize("executor", ["inline", "threads"])
def test_no_more_is_requested_than_a_given_budget_allows(ds, executor):
    budget, before = 16 * SIZE, fetcher().ahead_bytes  # of abandoned runs of other tests
    options = ps.Options(memory_budget=budget, executor=executor)
    with ds.map(len).with_options(options).iterator() as it:
        peaks = []
        for length in it:
            assert length == SIZE
            peaks.append(fetcher().ahead_bytes)
        held = it.stats().held
    assert 0 < max(peaks) - before <= budget
    assert FETCHED not in {each.name for each in held}  # the run is over
    assert fetcher().ahead_bytes <= before


def test_a_budget_of_one_row_still_reads(ds):
    options = ps.Options(memory_budget=SIZE // 2, executor="inline")
    assert list(ds.map(len).with_options(options)) == [SIZE] * ROWS


def test_what_is_requested_ahead_is_among_what_a_run_holds(ds, server):
    server.told(latency=0.02)
    with ds.map(len).with_options(ps.Options(executor="inline")).iterator() as it:
        next(it)
        (held,) = [each for each in it.stats().held if each.name == FETCHED]
        next(it)
    assert held.kind == "ahead"
    assert held.peak >= 0


@pytest.mark.parametrize(("executor", "fetched"), [("processes", SIZE), ("threads", 0)])
def test_a_task_of_another_process_reserves_what_is_requested_for_it_there(ds, executor, fetched):
    plan = ds.batch(2)._plan
    with scope_with(ps.Options(memory_budget=32 * SIZE, executor=executor, workers=2)) as scope:
        room = Room(Stage(Stretch(plan, plan), lambda epoch, mark: None, scope, top=True), None)
        job = Job(Task(0, 3, Piece(NOTHING, np.arange(3))), lambda count: count)
        room.reserve(job)
        assert job.reserved == 3 * 2 * fetched

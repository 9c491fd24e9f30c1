from __future__ import annotations

import gc
import os

import numpy as np
import pytest

import penstock as ps
from penstock.engine.tasks.observer import Unobserved
from penstock.engine.tasks.works import PieceWork, RowWork
from penstock.engine.workers.processes.plans import SharedPlan
from penstock.memory.arena import Arena
from penstock.memory.shared_file import SharedFile
from penstock.watch.counters import Counters


def work_of(ds, kind=RowWork, numbered_from=0):
    return kind(ds._plan, np.empty, Unobserved(), numbered_from)


@pytest.fixture
def arena():
    return Arena(SharedFile(1 << 20, 1 << 20))


def test_a_large_source_is_in_a_file_once_and_a_small_plan_in_none():
    source = np.arange(1_000_000)
    small = SharedPlan(work_of(ps.Dataset.range(3)), Unobserved())
    assert small._file is None
    large = SharedPlan(work_of(ps.Dataset.from_tensor_slices(source)), Unobserved())
    descriptor = large._file.fd
    assert os.fstat(descriptor).st_size >= source.nbytes
    assert large.packet.nbytes >= source.nbytes > small.packet.nbytes
    assert large.packet.pickled < 10_000
    del large
    gc.collect()
    with pytest.raises(OSError, match="descriptor"):
        os.fstat(descriptor)


def test_a_plan_serves_every_run_of_the_same_work():
    ds = ps.Dataset.range(10).map(lambda x: x + 1)
    plan = SharedPlan(work_of(ds), Unobserved())
    assert plan.is_of(work_of(ds), Unobserved())
    assert not plan.is_of(work_of(ds, numbered_from=1), Unobserved())
    assert not plan.is_of(work_of(ds, PieceWork), Unobserved())
    assert not plan.is_of(work_of(ds), Counters())
    assert not plan.is_of(work_of(ds.take(3)), Unobserved())

"""Places of tasks: equal for equal stretches of remote data, none where tasks read from everywhere."""

from __future__ import annotations

import numpy as np
import pytest

import penstock as ps
from penstock.elements.chunks.chunk import Items
from penstock.engine.tasks.task import NOTHING, Task
from penstock.engine.workers.handed_in import workers as module
from penstock.engine.workers.handed_in.workers import place_in
from penstock.plan.flow import Piece

ROWS, SIZE = 1000, 10


@pytest.fixture(autouse=True)
def small_stretches(monkeypatch):
    monkeypatch.setattr(module, "STRETCH", 100 * SIZE)  # 100 rows


@pytest.fixture
def ds(tmp_path, monkeypatch):
    fsspec = pytest.importorskip("fsspec")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    fsspec.filesystem("memory").pipe("/places/rows.bin", bytes(ROWS * SIZE))
    return ps.read_fixed_length("memory://places/rows.bin", SIZE)


def place(ds, low, high, epoch=0):
    plan = ds._plan
    rows = np.arange(low, high) + epoch * plan.stride
    return place_in(plan)(Task(low, high, Piece(NOTHING, rows)))


def test_a_task_in_order_has_the_place_of_its_rows_in_every_epoch(ds):
    assert [place(ds, low, low + 50) for low in range(0, 400, 50)] == [0, 0, 1, 1, 2, 2, 3, 3]
    assert place(ds, 250, 300, epoch=7) == 2


def test_operations_above_lead_to_the_rows_that_they_read(ds):
    assert place(ds.map(lambda x: x).batch(10), 20, 24) == 2
    assert place(ds.skip(300), 0, 10) == 3
    assert place(ds.shard(2, 1), 100, 110) == 2


def test_rows_from_everywhere_have_no_place(ds):
    assert place(ds.shuffle(seed=1), 0, 100) is None


def test_rows_mostly_of_one_stretch_have_its_place(ds):
    assert place(ds, 90, 150) == 1
    assert place(ds, 0, 1000) is None


def test_local_data_and_elements_have_no_place(ds):
    assert place(ps.Dataset.range(100), 0, 10) is None
    given = Task(0, 2, Piece(Items([1, 2]), np.arange(2)))
    assert place_in(ds._plan)(given) is None

from __future__ import annotations

import pickle
import threading
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import penstock as ps
from penstock.core.errors import WorkerError
from penstock.elements.chunks.chunk import Items
from penstock.engine.tasks.observer import Unobserved
from penstock.engine.tasks.task import Task
from penstock.engine.tasks.works import PieceWork, RowWork
from penstock.engine.workers.handed_in.pickled import LARGEST_CARRIED, OtherHostError, pickled_plan
from penstock.engine.workers.handed_in.remote import run_remotely
from penstock.plan.flow import Piece
from penstock.watch.counters import Counters
from penstock.watch.counts import ROWS as COUNTED

TASK = Task(0, 2, Piece(Items([]), np.array([3, 1], np.int64)))


def pickled(ds, observer, work=RowWork):
    return pickled_plan(work(ds._plan, np.empty, observer), observer)


def travelled(value):
    return pickle.loads(pickle.dumps(value))


def large(rows=20_000):
    return ps.Dataset.from_tensor_slices(np.arange(rows))


def test_a_small_plan_travels_with_every_task():
    plan = pickled(ps.Dataset.range(9).map(lambda x: x * 2), Unobserved())
    assert plan.file is None
    assert len(plan.to().data) <= LARGEST_CARRIED
    made, counted = travelled(run_remotely(travelled(plan.to()), travelled(TASK)))
    assert made.piece.chunk.elements() == [6, 2]
    assert counted is None
    plan.remove()


def test_a_large_plan_travels_once_in_a_file_without_a_name():
    plan = pickled(large().batch(1), Unobserved())
    assert plan.to().data is None
    assert len(pickle.dumps(plan.to())) < 500
    assert Path(plan.path).stat().st_size > LARGEST_CARRIED
    made, _ = run_remotely(travelled(plan.to()), TASK)
    assert [batch.tolist() for batch in made.piece.chunk.elements()] == [[3], [1]]
    plan.remove()
    assert not Path(plan.path).exists()
    plan.remove()


def test_a_worker_with_other_versions_says_so(monkeypatch):
    plan = pickled(ps.Dataset.range(9), Unobserved())
    sent = travelled(plan.to())
    monkeypatch.setattr("penstock.engine.workers.handed_in.pickled.versions", lambda: "Penstock 0.0 with Python 2.7")
    error = run_remotely(sent, TASK).error(ps.Dataset.range(9)._plan)
    assert isinstance(error, WorkerError)
    assert "a worker has Penstock 0.0 with Python 2.7, and the program has Penstock" in str(error)


def test_the_file_of_another_plan_is_not_taken_for_that_of_this_one():
    plan, other = pickled(large(), Unobserved()), pickled(large(30_000), Unobserved())
    with pytest.raises(OtherHostError):
        travelled(plan.to())._replace(path=other.path).load()
    plan.remove()
    other.remove()


def test_a_plan_has_a_named_file_where_the_system_has_no_proc(monkeypatch, tmp_path):
    monkeypatch.setattr("os.path.isdir", lambda path: False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    plan = pickled(large().batch(1), Unobserved())
    assert list(tmp_path.iterdir()) == [Path(plan.path)]
    assert [batch.tolist() for batch in run_remotely(travelled(plan.to()), TASK)[0].piece.chunk.elements()] == [
        [3],
        [1],
    ]
    plan.remove()
    assert list(tmp_path.iterdir()) == []


def test_a_stretch_of_a_stream_makes_the_same_piece_elsewhere():
    ds = ps.Dataset.range(10, 20).map(lambda x: x + 1).filter(lambda x: x > 12)
    here = PieceWork(ds._plan, np.empty, Unobserved()).make(TASK).piece
    made, counted = travelled(run_remotely(travelled(pickled(ds, Unobserved(), PieceWork).to()), TASK))
    assert made.piece.chunk.elements() == here.chunk.elements() == [14]
    assert made.piece.ids.tolist() == here.ids.tolist() == [3]
    assert counted is None


def test_counts_of_a_task_come_back_once():
    plan = pickled(ps.Dataset.range(9).map(lambda x: x), Counters())
    for _ in range(2):
        _, counted = run_remotely(plan.to(), TASK)
        assert [cell[COUNTED] for cell in counted.cells.values()] == [2, 2]


def test_the_time_of_a_task_comes_back():
    made, _ = run_remotely(pickled(ps.Dataset.range(9), Unobserved()).to(), TASK)
    assert travelled(made).cost.wall > 0


def test_a_function_that_cannot_be_pickled_is_named_with_its_variable():
    lock = threading.Lock()
    with ProcessPoolExecutor(1) as pool:
        ds = ps.Dataset.range(7).map(abs).map(lambda x: (lock, x)[1]).with_options(ps.Options(executor=pool))
        with pytest.raises(TypeError, match="cannot pickle") as caught:
            list(ds)
    assert "lock in map(lambda) cannot be pickled for the workers" in "".join(caught.value.__notes__)


def test_a_variable_without_a_value_yet_hides_no_error():
    lock = threading.Lock()

    def function(x):
        return later(x) if lock else x

    with pytest.raises(TypeError, match="cannot pickle") as caught:
        pickled(ps.Dataset.range(3).map(function), Unobserved())
    assert "lock in map(function) cannot be pickled" in "".join(caught.value.__notes__)

    def later(x):
        return x

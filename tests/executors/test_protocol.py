"""What the engine does with executors that lose workers, carry bytes, run elsewhere, or say how wide they are."""

from __future__ import annotations

import pickle
import threading
from concurrent.futures import Executor, Future, ThreadPoolExecutor

import numpy as np
import pytest

import penstock as ps
from penstock.engine.workers.handed_in.pickled import SentPlan
from penstock.executors.protocol import is_lost_worker

D = ps.Dataset
TABLE = np.arange(50_000)  # makes a plan larger than what travels with every task


class OtherHost(Executor):
    """Runs a call at once, from pickled arguments, as another host would that cannot open files of this one."""

    def __init__(self):
        self.carried = []

    def submit(self, fn, /, *args, **kwargs):
        future = Future()
        data = pickle.dumps((args, kwargs))
        self.carried.append(len(data))
        args, kwargs = pickle.loads(data)
        args = [each._replace(path="/not/here") if isinstance(each, SentPlan) else each for each in args]
        try:
            self.before(args)
            future.set_result(pickle.loads(pickle.dumps(fn(*args, **kwargs))))
        except Exception as error:  # noqa: BLE001 - the future carries it
            future.set_exception(error)
        return future

    def before(self, args):
        pass


class Losing(OtherHost):
    """Loses the worker of every call for which `loses(task)` is true."""

    def __init__(self, loses):
        super().__init__()
        self.loses = loses
        self.lost = 0

    def before(self, args):
        if self.loses(args[1]):
            self.lost += 1
            raise ps.executors.LostWorkerError("a worker ended")


class Kept:
    def __init__(self, number):
        self.number = number

    def load(self):
        return STORE[self.number]


STORE = []


class Keeping(OtherHost):
    def keep(self, data):
        STORE.append(data)
        return Kept(len(STORE) - 1)


def by(ds, executor, **options):
    return ds.with_options(ps.Options(executor=executor, **options))


def test_a_worker_that_is_lost_changes_nothing_but_the_events():
    ds = D.range(40).map(lambda x: TABLE[x] * 2).batch(4)
    seen = set()

    def loses(task):
        is_new = task.low not in seen
        seen.add(task.low)
        return is_new

    executor = Losing(loses)
    it = by(ds, executor).iterator()
    assert [batch.tolist() for batch in it] == [batch.tolist() for batch in ds]
    assert executor.lost == len(it.stats().events) >= 1
    assert "the run continues on another worker" in it.stats().events[0].words


def test_a_row_that_loses_every_worker_is_an_error_that_names_it():
    executor = Losing(lambda task: 7 in np.asarray(task.given.ids))
    received = []
    with pytest.raises(ps.errors.WorkerDiedError, match="row 7 of map") as caught:
        received.extend(by(D.range(20).map(lambda x: x + 1), executor))
    assert received == list(range(1, 8))
    assert caught.value.row == 7


def test_a_plan_that_workers_of_another_host_cannot_open_travels_with_its_tasks():
    executor = OtherHost()
    ds = D.range(0, 50_000, 5_000).map(lambda row: TABLE[row] + 1)
    assert list(by(ds, executor, workers=1)) == list(ds)
    small, *_, large = sorted(executor.carried)
    assert small < 65_536 < large


def test_an_executor_that_keeps_bytes_receives_a_large_plan_once():
    executor = Keeping()
    STORE.clear()
    table = np.arange(50_000)
    ds = D.range(0, 50_000, 500).map(lambda row: table[row] + 1).batch(2)
    assert [each.tolist() for each in by(ds, executor)] == [each.tolist() for each in ds]
    assert len(STORE) == 1
    assert max(executor.carried) < 65_536


def test_a_small_plan_is_kept_too():
    STORE.clear()
    assert list(by(D.range(9).map(abs), Keeping())) == list(range(9))
    assert len(STORE) == 1


class Wide(Executor):
    """Holds calls back until as many as it has workers are there."""

    workers = 7

    def __init__(self):
        self.waiting = []
        self.most = 0

    def submit(self, fn, /, *args, **kwargs):
        future = Future()
        self.waiting.append((future, fn, pickle.loads(pickle.dumps(args)), kwargs))
        if len(self.waiting) >= self.workers:
            self.most = max(self.most, len(self.waiting))
            for future_of, function, arguments, named in self.waiting:
                future_of.set_result(function(*arguments, **named))
            self.waiting.clear()
        return future


def test_as_many_tasks_are_under_way_as_the_executor_has_workers():
    executor = Wide()
    ds = by(D.counter().map(lambda x: np.full(30_000, x)), executor)
    with ds.iterator() as it:
        assert [int(next(it)[0]) for _ in range(20)] == list(range(20))
    assert executor.most >= 7


class Queue(Executor):
    """Makes one call after another in a thread; loses the worker of the first once others wait behind it."""

    workers = 2

    def __init__(self):
        self.thread = ThreadPoolExecutor(1)
        self.submitted = []
        self.others_wait = threading.Event()

    def submit(self, fn, /, *args):
        self.submitted.append(args[1].low)
        if len(self.submitted) == 1:
            return self.thread.submit(self.loses)
        if len(self.submitted) == self.workers + 1:
            self.others_wait.set()
        return self.thread.submit(fn, *pickle.loads(pickle.dumps(args)))

    def loses(self):
        assert self.others_wait.wait(30)
        raise ps.executors.LostWorkerError("a worker ended")


def test_a_task_whose_worker_was_lost_is_made_before_those_that_wait():
    executor = Queue()
    with executor.thread:
        ds = by(D.range(30).map(lambda x: np.full(30_000, x)), executor)
        assert [int(each[0]) for each in ds] == list(range(30))
    low = executor.submitted
    assert low[3] == low[0]
    assert sorted(low[3:] + low[1:3]) == sorted(set(low))


class Near(OtherHost):
    """Notes the place of each call."""

    def __init__(self):
        super().__init__()
        self.places = []

    def submit_near(self, place, fn, /, *args):
        self.places.append(place)
        return self.submit(fn, *args)


def test_tasks_on_remote_data_are_sent_to_their_places(tmp_path, monkeypatch):
    fsspec = pytest.importorskip("fsspec")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("penstock.engine.workers.handed_in.workers.STRETCH", 80)
    fsspec.filesystem("memory").pipe("/near/rows.bin", bytes(range(200)))
    executor = Near()
    ds = ps.read_fixed_length("memory://near/rows.bin", 1).batch(40)
    assert [each.tolist() for each in by(ds, executor, workers=1)] == [each.tolist() for each in ds]
    assert executor.places == [0, 0, 1, 1, 2]
    assert list(by(D.range(9).map(abs), executor)) == list(range(9))
    assert len(executor.places) == 5


def test_errors_of_dask_tell_of_lost_workers():
    killed = type("KilledWorker", (Exception,), {"__module__": "distributed.scheduler"})
    assert is_lost_worker(killed())
    assert is_lost_worker(ps.executors.LostWorkerError())
    assert not is_lost_worker(type("KilledWorker", (Exception,), {})())
    assert not is_lost_worker(RuntimeError())

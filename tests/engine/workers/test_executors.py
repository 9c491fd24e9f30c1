from __future__ import annotations

import multiprocessing
import os
import threading
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from itertools import islice

import numpy as np
import pytest

import penstock as ps
from penstock.core.errors import WorkerError
from penstock.elements.chunks.chunk import Items
from penstock.engine.tasks.observer import Unobserved
from penstock.engine.tasks.task import Job, Task
from penstock.engine.tasks.works import RowWork
from penstock.engine.tuning.settings import is_remote
from penstock.engine.workers.executors import ThreadWorkers, result_of, submitted
from penstock.engine.workers.handed_in.pickled import pickled_plan
from penstock.engine.workers.handed_in.replaceable import ReplaceableExecutor
from penstock.engine.workers.handed_in.workers import RemoteWorkers
from penstock.engine.workers.window import Window
from penstock.plan.flow import Piece
from tests.workers import threads_of

D = ps.Dataset
JOB = Job(Task(3, 5, Piece(Items([]), np.array([3, 4]))), int)


def spawned(workers):
    return ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn"))


def by(ds, executor, **options):
    return ds.with_options(ps.Options(executor=executor, **options))


def test_an_executor_that_its_owner_shut_down_is_named_in_the_error():
    executor = ThreadPoolExecutor(1)
    it = by(D.range(1000).batch(2), executor).iterator()
    first = next(it)
    executor.shutdown()
    with pytest.raises(WorkerError, match=r"ThreadPoolExecutor accepted no task.*Keep it open"):
        list(it)
    assert first.tolist() == [0, 1]
    with pytest.raises(ps.errors.ClosedError, match="failed"):
        next(it)


def test_the_state_of_a_run_whose_executor_was_shut_down_resumes_elsewhere():
    executor = ThreadPoolExecutor(1)
    ds = D.range(1000).batch(2)
    it = by(ds, executor).iterator()
    received = [next(it).tolist()]
    executor.shutdown()
    with pytest.raises(WorkerError):
        received.extend(batch.tolist() for batch in it)
    assert it.state_dict()["row"] == len(received)
    again = ds.iterator()
    again.load_state_dict(it.state_dict())
    assert next(again).tolist()[0] == it.state_dict()["row"] * 2


def test_threads_of_the_caller_stay_open():
    with ThreadPoolExecutor(2) as executor:
        for _ in range(2):
            with by(D.range(100).batch(2), executor).iterator(epoch=0) as it:
                assert [batch.tolist() for batch in islice(it, 2)] == [[0, 1], [2, 3]]
        assert executor.submit(int, "3").result(10) == 3


def deadly(x):
    if x == 50:
        os._exit(3)
    return x


@pytest.mark.parametrize("batched", [False, True])
def test_an_item_that_kills_its_workers_is_an_error_after_all_items_before(batched):
    with spawned(1) as executor:
        ds = D.range(200).map(deadly)
        ds = ds.batch(4) if batched else ds
        received = []
        it = by(ds, executor).iterator()
        item = 12 if batched else 50
        words = r"row 50 of map\(deadly\) ends the worker that makes it: .* ended with exit code 3"
        with pytest.raises(WorkerError, match=words) as caught:
            received.extend(it)
        assert caught.value.__notes__ == [f"while making {'batch' if batched else 'element'} {item}"]
        received = [int(x) for batch in received for x in np.atleast_1d(batch)]
        assert received == list(range(48 if batched else 50))
        assert it.state_dict()["row"] == item


def test_a_large_plan_leaves_no_file(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    table = np.arange(50_000)
    with spawned(1) as executor:
        ds = by(D.range(30).map(lambda row: table[row * 1000]), executor)
        it = ds.iterator()
        assert next(it) == 0
        assert list(tmp_path.iterdir()) == []  # the file has no name
        assert list(it) == list(range(1000, 30_000, 1000))
        assert list(tmp_path.iterdir()) == []
        with ds.iterator() as it:
            next(it)
        assert list(tmp_path.iterdir()) == []
        it = ds.iterator()
        next(it)
        del it
        assert list(tmp_path.iterdir()) == []
        failing = by(D.range(30).map(lambda row: 1 // (int(table[row]) - 3)), executor)
        with pytest.raises(ZeroDivisionError):
            list(failing)
        assert list(tmp_path.iterdir()) == []


class Cancelling(Executor):
    """Takes tasks and cancels them."""

    def submit(self, fn, /, *args, **kwargs):
        future = Future()
        future.cancel()
        future.set_running_or_notify_cancel()
        return future


def test_a_task_that_its_executor_cancels_is_an_error():
    with pytest.raises(WorkerError, match="canceled by its executor"):
        list(by(D.range(5), Cancelling()))


class Unwilling(Executor):
    """Takes some tasks and runs them at once; then `submit` raises an error, or returns no future."""

    def __init__(self, error, takes=0):
        self.error, self.takes = error, takes

    def submit(self, fn, /, *args, **kwargs):
        if self.takes:
            self.takes -= 1
            future = Future()
            future.set_result(fn(*args, **kwargs))
            return future
        if self.error is not None:
            raise self.error
        return None


@pytest.mark.parametrize("takes", [0, 3])
@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize(
    ("error", "says"),
    [
        (OSError("no quota"), "Unwilling accepted no task for items .*: OSError: no quota"),
        (MemoryError(), "Unwilling accepted no task for items .*: MemoryError"),
        (None, r"Unwilling.submit\(\) returned NoneType for the task of items .*; it must return"),
    ],
)
def test_an_executor_that_takes_no_task_ends_the_run(error, says, streamed, takes):
    ds = D.range(100).filter(lambda x: True) if streamed else D.range(100)
    it = by(ds.batch(2), Unwilling(error, takes)).iterator()
    received = []
    with pytest.raises(WorkerError, match=says) as caught:
        received.extend(it)
    assert caught.value.__cause__ is error
    received = [int(x) for batch in received for x in batch]
    assert received == list(range(len(received)))
    assert bool(received) == bool(takes)
    with pytest.raises(ps.errors.ClosedError, match="failed"):
        next(it)


def test_counts_of_other_processes_are_in_the_stats():
    with spawned(1) as executor:
        it = by(D.range(40).map(deadly).take(40).batch(4), executor).iterator()
        assert len(list(it)) == 10
        rows = {operation.name.partition("(")[0]: operation.rows for operation in it.stats().operations}
        assert rows["map"] == 40
        assert it.stats().mode == "ProcessPoolExecutor"


def test_stats_show_the_number_of_threads():
    it = D.range(40).map(lambda x: x, num_parallel_calls=3).iterator()
    next(it)
    assert it.stats().mode == "3 threads"
    assert sum(thread.name == "penstock-worker" for thread in threading.enumerate()) >= 3
    it.close()


# Workers by themselves


def work_of(ds):
    return RowWork(ds._plan, np.empty, Unobserved())


def replaceable(executor):
    return ReplaceableExecutor(executor, 1, [].append)


def run(workers, *rows, slot=None):
    """The result of one task that the workers make of some rows."""
    window, job = Window(ordered=True), Job(Task(0, len(rows), Piece(Items([]), np.array(rows)), slot), int)
    window.push(job)
    workers.submit(job, 0, partial(window.finish, job, 0))
    assert window.pop() == [job]
    return job.results[0]


@pytest.mark.parametrize("kind", [threads_of, ThreadPoolExecutor])
def test_threads_write_into_the_slot(kind):
    slot = [np.zeros((1, 3), np.int64)]
    with kind(1) as executor:
        result = run(ThreadWorkers(work_of(D.range(9).batch(3)), executor), 1, slot=slot)
    assert slot[0].tolist() == [[3, 4, 5]]
    assert np.shares_memory(result.piece.chunk.element(0), slot[0])


@pytest.mark.parametrize("kind", [threads_of, ThreadPoolExecutor])
@pytest.mark.parametrize("error", [LookupError(), KeyboardInterrupt(), SystemExit(3)])
def test_the_exception_of_a_task_is_its_result(kind, error):
    def fails(x):
        raise error

    with kind(1) as executor:
        workers = ThreadWorkers(work_of(D.range(9).map(fails, vectorized=False)), executor)
        assert run(workers, 1) is error


def test_a_slot_does_not_travel_to_another_process():
    slot = [np.zeros((1, 3), np.int64)]
    with spawned(1) as executor:
        work = work_of(D.range(9).batch(3))
        workers = RemoteWorkers(work, replaceable(executor), Unobserved(), pickled_plan(work, Unobserved()))
        assert run(workers, 1, slot=slot).piece.chunk.element(0).tolist() == [3, 4, 5]
    assert not slot[0].any()


def test_threads_share_memory_and_other_executors_do_not():
    with ThreadPoolExecutor(1) as pool:
        assert not is_remote(pool)
    assert is_remote(Cancelling())
    assert is_remote(Cancelling)


def test_workers_have_names():
    work = work_of(D.range(3))
    with threads_of(1) as own, ThreadPoolExecutor(1) as pool:
        workers = ThreadWorkers(work, own)
        assert workers.name == "1 thread"
        own.resize(2)
        assert workers.name == "2 threads"
        assert ThreadWorkers(work, pool).name == "ThreadPoolExecutor"
    remote = RemoteWorkers(work, replaceable(Cancelling()), Unobserved(), pickled_plan(work, Unobserved()))
    assert remote.name == "Cancelling"


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("threads", [1, 2])
def test_a_function_may_iterate_a_dataset_with_the_executor_that_runs_it(threads, streamed):
    with ThreadPoolExecutor(threads) as pool:

        def total(x):
            inner = D.range(x + 1).filter(lambda y: True) if streamed else D.range(x + 1)
            return sum(by(inner.map(lambda y: by(D.range(y), pool).reduce(0, lambda s, _: s + 1)), pool))

        ds = D.range(8).filter(lambda x: True) if streamed else D.range(8)
        made = []
        run = threading.Thread(target=lambda: made.extend(by(ds.map(total), pool)), daemon=True)
        run.start()
        run.join(20)
        assert made == [0, 1, 3, 6, 10, 15, 21, 28]


def test_the_result_of_a_canceled_task_is_an_error_that_names_its_items():
    future = Future()
    future.cancel()
    result = result_of(future, JOB)
    assert isinstance(result, WorkerError)
    assert "items 3 to 5" in str(result)


def test_a_broken_executor_raises_at_once():
    class Broken:
        def submit(self, fn, /, *args):
            raise BrokenExecutor

    with pytest.raises(BrokenExecutor):
        submitted(Broken(), JOB, int)

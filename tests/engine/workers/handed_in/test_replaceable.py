"""Executors that break: the run continues on others, with the same items, and this process survives."""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import threading
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from time import monotonic

import numpy as np
import pytest

import penstock as ps
from penstock.core.errors import WorkerError
from penstock.engine.workers.handed_in.remote import run_remotely
from tests.workers import PATIENCE

D = ps.Dataset
SPAWN = multiprocessing.get_context("spawn")


@pytest.fixture(autouse=True)
def said(caplog):
    caplog.set_level(logging.WARNING, "penstock")
    return caplog


class Fragile(Executor):
    """Runs tasks at once, or in a thread; breaks at a task that reads a row of `deadly`.

    `deadly` counts how many executors each row breaks. Like a pool of processes, an executor that breaks fails all
    tasks under way, and takes no other.
    """

    def __init__(self, deadly, in_thread=False):
        self.deadly, self.broken, self.is_shut = deadly, False, threading.Event()
        self.lock = threading.Lock()
        self.under_way = []
        self.thread = ThreadPoolExecutor(1) if in_thread else None

    def submit(self, fn, /, *args):
        assert fn is run_remotely
        future = Future()
        with self.lock:
            if self.broken:
                raise BrokenExecutor("broken")
            self.under_way.append(future)
        if self.thread is None:
            self.run(future, *args)
        else:
            self.thread.submit(self.run, future, *args)
        return future

    def run(self, future, plan, task):
        if self.broken:
            return
        kills = [row for row in task.given.ids.tolist() if self.deadly.get(row)]
        if not kills:
            result = run_remotely(plan, task)
            with self.lock:
                self.under_way.remove(future)
            future.set_result(result)
            return
        self.deadly[kills[0]] -= 1
        with self.lock:
            self.broken = True
        for failed in self.under_way:
            failed.set_exception(BrokenExecutor("a worker died"))

    def shutdown(self, wait=True, *, cancel_futures=False):
        self.is_shut.set()
        if self.thread is not None:
            self.thread.shutdown(wait=False)


class Factory:
    """Makes fragile executors, and keeps them."""

    def __init__(self, deadly, in_thread=False):
        self.deadly, self.in_thread, self.made = deadly, in_thread, []

    def __call__(self):
        self.made.append(Fragile(self.deadly, self.in_thread))
        return self.made[-1]


def by(ds, executor):
    return ds.with_options(ps.Options(executor=executor))


PLANS = {
    "rows": D.range(60).map(lambda x: x + 1),
    "batches": D.range(240).shuffle(seed=1).batch(4),
    "random": D.range(60).map(lambda x, *, rng: int(rng.integers(1000))).with_options(ps.Options(seed=3)),
    "stream": D.range(60).map(lambda x: x + 1).filter(lambda x: x % 3 > 0).batch(2),
}


@pytest.mark.parametrize("in_thread", [False, True])
@pytest.mark.parametrize("deadly", [{0: 1}, {7: 1, 8: 1, 30: 1}, {59: 1}, dict.fromkeys(range(0, 60, 9), 1)])
@pytest.mark.parametrize("plan", PLANS)
def test_the_elements_are_those_of_a_run_without_deaths(plan, deadly, in_thread):
    ds = PLANS[plan]
    wanted = [np.asarray(each).tolist() for each in ds.with_options(ps.Options(executor="inline")).iterator(epoch=0)]
    factory = Factory(dict(deadly), in_thread)
    it = by(ds, factory).iterator(epoch=0)
    received = [np.asarray(each).tolist() for each in it]
    assert received == wanted
    assert not any(factory.deadly.values())
    assert {event.kind for event in it.stats().events} == {"broken"}
    assert len(it.stats().events) == len(factory.made) - 1
    assert all(made.is_shut.wait(20) for made in factory.made)


@pytest.mark.parametrize("in_thread", [False, True])
def test_counts_are_those_of_the_tasks_that_were_done(in_thread):
    it = by(D.range(60).map(lambda x: x), Factory({20: 1}, in_thread)).iterator()
    assert len(list(it)) == 60
    assert it.stats().operations[-1].rows >= 60


@pytest.mark.parametrize("in_thread", [False, True])
@pytest.mark.parametrize("plan", ["rows", "random", "stream"])
def test_an_item_that_kills_two_workers_fails_after_all_items_before_it(plan, in_thread):
    ds = PLANS[plan]
    wanted = [np.asarray(each).tolist() for each in ds.with_options(ps.Options(executor="inline")).iterator(epoch=0)]
    factory = Factory({40: 9}, in_thread)
    it = by(ds, factory).iterator(epoch=0)
    received = []
    with pytest.raises(WorkerError, match=r"^(row|element) 40 of .* ends the worker that makes it: Fragile broke"):
        received.extend(np.asarray(each).tolist() for each in it)
    assert received == wanted[: len(received)]
    assert len(received) >= (13 if plan == "stream" else 40)
    assert factory.deadly[40] >= 4  # several for a group of items, to find the one
    assert all(made.is_shut.wait(20) for made in factory.made)


def test_the_state_after_a_deadly_item_skips_nothing():
    ds = D.range(60)
    it = by(ds, Factory({40: 9})).iterator()
    received = []
    with pytest.raises(WorkerError):
        received.extend(it)
    again = ds.iterator()
    again.load_state_dict(it.state_dict())
    assert [*received, *again] == list(range(60))


def test_the_message_of_a_deadly_item_does_not_advise_to_run_it_here():
    with pytest.raises(WorkerError, match="so that it does not end its process") as caught:
        list(by(D.range(60), Factory({40: 9})))
    assert caught.value.__notes__ == ["while making element 40"]


def test_one_warning_and_one_event_say_what_broke(said):
    it = by(D.range(60).map(abs), Factory({40: 1})).iterator()
    assert len(list(it)) == 60
    (event,) = it.stats().events
    assert event.kind == "broken"
    assert event.rows[0] <= 40 < event.rows[1]
    assert event.operation == "map(abs, traced)"
    assert [record.getMessage() for record in said.records] == [event.words]
    assert event.words.startswith("Fragile broke: a worker died while items ")
    assert event.words.endswith("; the run continues on a new Fragile, with the same items")
    assert event.words in it.verdict()


def test_executors_that_all_break_at_once_end_the_run():
    class Broken(Fragile):
        def submit(self, fn, /, *args):
            raise BrokenExecutor("no memory")

    with pytest.raises(WorkerError, match=r"6 executors broke one after another without a task done: .*no memory"):
        list(by(D.range(60), lambda: Broken({})))


class NoMoreError(Exception):
    pass


def test_a_factory_that_fails_ends_the_run_and_nothing_is_made_here():
    made = []

    def factory():
        if made:
            raise NoMoreError
        made.append(Fragile({40: 1}))
        return made[-1]

    received = []
    with pytest.raises(WorkerError, match="no executor could be made: NoMoreError") as caught:
        received.extend(by(D.range(60), factory))
    assert type(caught.value.__cause__) is NoMoreError
    assert received == list(range(len(received)))


@pytest.mark.parametrize(
    ("factory", "says"),
    [
        (lambda: 3, r"Options\(executor=<lambda>\): the function returned int, not an Executor"),
        (lambda: ThreadPoolExecutor(1), "returned a ThreadPoolExecutor, which has no worker that could die"),
    ],
)
def test_a_factory_makes_executors_of_processes(factory, says):
    with pytest.raises(WorkerError, match=says):
        list(by(D.range(6), factory))


def test_an_executor_of_the_caller_is_left_open():
    given = Fragile({})
    assert list(by(D.range(60), given)) == list(range(60))
    assert not given.is_shut.is_set()


def test_closing_while_suspects_wait_leaves_no_executor():
    factory = Factory({3: 1})
    with by(D.range(600), factory).iterator() as it:
        next(it)
    assert all(made.is_shut.wait(20) for made in factory.made)


def test_an_executor_of_unknown_kind_is_replaced_by_processes():
    it = by(D.range(60), Fragile({40: 1})).iterator()
    assert list(it) == list(range(60))
    assert it.stats().mode == "ProcessPoolExecutor"


def killed_once(flag, deadly):
    def kill(x):
        if x == deadly and not os.path.exists(flag):
            open(flag, "x").close()
            os.kill(os.getpid(), signal.SIGKILL)
        return x

    return kill


@pytest.mark.parametrize("from_factory", [False, True])
def test_a_pool_of_processes_whose_worker_is_killed_is_replaced(tmp_path, from_factory):
    ds = D.range(200).map(killed_once(str(tmp_path / "killed"), 50)).batch(4)
    others = multiprocessing.active_children()  # of tests before
    with ProcessPoolExecutor(2, mp_context=SPAWN) as pool:
        it = by(ds, (lambda: ProcessPoolExecutor(2, mp_context=SPAWN)) if from_factory else pool).iterator()
        assert [int(x) for batch in it for x in batch] == list(range(200))
    assert it.stats().mode == "ProcessPoolExecutor"
    (event,) = it.stats().events
    assert "was killed by SIGKILL while items" in event.words
    while children := set(multiprocessing.active_children()) - set(others):  # one may be starting
        for child in children:
            child.join()


class Late(ProcessPoolExecutor):
    """Breaks, and ends the workers that it knows, just before it knows its second one; then it is shut down at once."""

    def __init__(self):
        super().__init__(2, mp_context=SPAWN)
        pool, self.late, self.is_shut = self, None, threading.Event()

        class Processes(dict):
            def __setitem__(self, number, process):
                for pid in self:
                    os.kill(pid, signal.SIGKILL)
                until = monotonic() + 20
                while self and not pool._call_queue._reader.closed and monotonic() < until:
                    threading.Event().wait(0.01)
                pool.late = process if self else None
                super().__setitem__(number, process)

        self._processes = Processes()

    def submit(self, fn, /, *args):
        future = super().submit(fn, *args)
        assert self.late is None or self.is_shut.wait(PATIENCE)
        return future

    def shutdown(self, wait=True, *, cancel_futures=False):
        super().shutdown(wait, cancel_futures=cancel_futures)
        self.is_shut.set()


def test_a_worker_that_starts_while_its_pool_breaks_ends():
    pool = Late()
    it = by(
        D.range(200).batch(4), lambda: ProcessPoolExecutor(2, mp_context=SPAWN) if pool._broken else pool
    ).iterator()
    assert [int(x) for batch in it for x in batch] == list(range(200))
    assert pool._broken
    pool.late.join(20)
    assert pool.late.exitcode == -signal.SIGTERM  # at once, not killed after some seconds of patience


class Forgetful(ProcessPoolExecutor):
    """Takes its second call after it has broken, as if that had been checked just before: the call is never made."""

    def __init__(self):
        super().__init__(1, mp_context=SPAWN)
        self.calls = 0

    def submit(self, fn, /, *args):
        self.calls += 1
        if self.calls != 2:
            return super().submit(fn, *args)
        (process,) = self._processes.values()
        process.kill()
        self._executor_manager_thread.join(60)
        broken, self._broken, self._shutdown_thread = self._broken, False, False
        try:
            return super().submit(fn, *args)
        finally:
            self._broken, self._shutdown_thread = broken, True


def test_a_call_that_a_pool_forgets_while_it_breaks_is_made_again():
    with Forgetful() as pool:
        it = by(D.range(200).batch(4), pool).iterator()
        assert [int(x) for batch in it for x in batch] == list(range(200))
    assert pool.calls >= 2
    assert [event.kind for event in it.stats().events] == ["broken"]


def initialized():
    os.environ["FAULTS"] = "set"


def test_a_replaced_pool_has_the_settings_of_the_one_that_broke(tmp_path):
    flag = str(tmp_path / "killed")

    def read(x):
        if x == 50 and not os.path.exists(flag):
            open(flag, "x").close()
            os._exit(5)
        return os.environ["FAULTS"]

    with ProcessPoolExecutor(1, mp_context=SPAWN, initializer=initialized) as pool:
        assert set(by(D.range(100).map(read), pool)) == {"set"}

"""Pools that break without telling all of those who use them."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import threading
import weakref
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool

import pytest

import penstock as ps
from penstock.engine.workers.handed_in.pools import PoolEnds
from tests.engine.workers.processes.programs import await_end

D = ps.Dataset
SPAWN = multiprocessing.get_context("spawn")
PATIENCE = 30  # seconds
UNHANDLED = "ignore::pytest.PytestUnhandledThreadExceptionWarning"  # the thread of the pool


class Noting(ProcessPoolExecutor):
    """A pool that tells when a call beyond those counted before is submitted."""

    def __init__(self, workers):
        super().__init__(workers, mp_context=SPAWN)
        self.submitted = threading.Event()

    def submit(self, fn, /, *args):
        future = super().submit(fn, *args)
        self.submitted.set()
        return future


@pytest.fixture
def gate(tmp_path):
    path = tmp_path / "gate"
    os.mkfifo(path)
    return str(path)


def closed_at(gate):
    def wait(x):
        if x:
            with open(gate) as file:
                file.read()
        return x

    return wait


@pytest.mark.filterwarnings(UNHANDLED)
@pytest.mark.parametrize("workers", [1, 2])
def test_a_run_goes_on_if_its_pool_breaks_with_calls_of_a_run_that_was_closed(gate, workers):
    with Noting(workers) as pool:
        options = ps.Options(executor=pool)
        first = D.range(100).map(closed_at(gate)).prefetch(60).with_options(options).iterator()
        assert next(first) == 0
        first.close()  # some of its calls wait, now canceled, behind those that workers have
        pool.submitted.clear()
        received = []
        second = D.range(40).map(lambda x: x + 1).with_options(options).iterator()
        consumer = threading.Thread(target=lambda: received.extend(second), daemon=True)
        consumer.start()
        assert pool.submitted.wait(PATIENCE)
        os.kill(next(iter(pool._processes)), signal.SIGKILL)
        consumer.join(PATIENCE)
        assert received == list(range(1, 41))
    assert [event.kind for event in second.stats().events] == ["broken"]


@pytest.mark.filterwarnings(UNHANDLED)
def test_workers_of_a_pool_that_broke_while_its_only_run_was_closed_end(gate):
    pool = Noting(2)
    it = D.range(100).map(closed_at(gate)).prefetch(60).with_options(ps.Options(executor=pool)).iterator()
    assert next(it) == 0
    pids = list(pool._processes)
    it.close()
    os.kill(pids[0], signal.SIGKILL)
    assert len(pids) == 2
    assert all(map(await_end, pids))


class Client:
    def __init__(self):
        self.recovered = threading.Event()

    def recover(self, pool):
        self.recovered.set()


def watchers():
    return [each for each in threading.enumerate() if each.name == "penstock-pool-end"]


def test_all_users_of_a_pool_are_told_by_one_thread_and_none_is_kept():
    ends, first, second, gone = PoolEnds(), Client(), Client(), Client()
    with ProcessPoolExecutor(1, mp_context=SPAWN) as pool:
        pid = pool.submit(os.getpid).result()
        before = len(watchers())
        for client in (first, second, second, gone):
            ends.watch(pool, pool._processes, client)
        assert len(watchers()) == before + 1
        left = weakref.ref(gone)
        del gone, client
        gc.collect()
        assert left() is None
        os.kill(pid, signal.SIGKILL)
        assert first.recovered.wait(PATIENCE)
        assert second.recovered.wait(PATIENCE)
        with pytest.raises(BrokenProcessPool):
            pool.submit(os.getpid)


def test_a_user_that_comes_after_the_end_of_a_pool_is_told_at_once():
    ends, first, late = PoolEnds(), Client(), Client()
    with ProcessPoolExecutor(1, mp_context=SPAWN) as pool:
        pool.submit(os.getpid).result()
        workers = pool._processes
        ends.watch(pool, workers, first)
    assert first.recovered.wait(PATIENCE)
    ends.watch(pool, workers, late)
    assert late.recovered.is_set()


@pytest.mark.parametrize("is_dropped", [False, True])
def test_the_end_of_a_pool_leaves_no_thread(is_dropped):
    ends, client, before = PoolEnds(), Client(), watchers()
    pool = ProcessPoolExecutor(1, mp_context=SPAWN)
    pool.submit(os.getpid).result()
    ends.watch(pool, pool._processes, client)
    (thread,) = [each for each in watchers() if each not in before]
    if not is_dropped:
        pool.shutdown()
    del pool
    gc.collect()
    thread.join(PATIENCE)
    assert not thread.is_alive()
    assert not (is_dropped and client.recovered.is_set())

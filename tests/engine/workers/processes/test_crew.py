from __future__ import annotations

import gc
import logging
import os
import random
import signal
import threading
import time
from collections import Counter
from contextlib import suppress
from itertools import count, groupby
from logging.handlers import QueueHandler
from multiprocessing import connection
from queue import SimpleQueue

import numpy as np
import pytest

import penstock as ps
from penstock.core.errors import WorkerError
from penstock.engine.tuning.hill_climb import HillClimb
from penstock.engine.workers.processes import crew
from penstock.engine.workers.processes.crew import Crew
from penstock.engine.workers.processes.pool import ProcessPool, _pools
from penstock.engine.workers.processes.starting import PoolSetup
from tests.engine.workers.processes.programs import await_end, is_alive, run
from tests.workers import PATIENCE

D = ps.Dataset
OPTIONS = ps.Options(executor="processes", workers=2)


def open_files():
    return Counter(os.readlink(f"/proc/self/fd/{each}") for each in os.listdir("/proc/self/fd") if _exists(each))


def _exists(descriptor):
    return os.path.lexists(f"/proc/self/fd/{descriptor}")


class Killer(threading.Thread):
    """Kills a worker that takes tasks every 50 ms, up to 50 of them, for ten seconds at most.

    On a busy machine a worker takes seconds to start, so that many more would take longer than a test may.
    """

    def __init__(self, pool):
        super().__init__()
        self.killed = set()
        self._crew = pool.crew
        self._is_done = threading.Event()

    def run(self):
        draws, end = random.Random(1), time.monotonic() + 10
        while len(self.killed) < 50 and time.monotonic() < end and not self._is_done.wait(0.05):
            if pids := self._crew.pids:
                pid = draws.choice(pids)
                with suppress(ProcessLookupError):  # it has just been replaced
                    os.kill(pid, draws.choice([signal.SIGKILL, signal.SIGTERM]))
                    self.killed.add(pid)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self._is_done.set()
        self.join()


def test_workers_that_are_killed_at_random_change_nothing(pool):
    def slow(x):
        time.sleep(0.0003)
        return np.full(50, x)

    ds = D.range(4000).shuffle(seed=5).map(slow).batch(4)
    wanted = [int(x) for batch in ds.with_options(ps.Options(executor="inline")) for x in batch[:, 0]]
    it, got = ds.with_options(OPTIONS).iterator(epoch=0), []
    with Killer(pool) as killer:
        for batch in it:
            assert (batch == batch[:, :1]).all()
            got += batch[:, 0].tolist()
    assert got == wanted
    assert len(killer.killed) > 2
    assert {event.kind for event in it.stats().events} == {"died"}
    assert all("SIGKILL" in event.words or "SIGTERM" in event.words for event in it.stats().events)
    assert all(map(await_end, killer.killed))
    assert list(D.range(9).map(lambda x: x).with_options(OPTIONS)) == list(range(9))


def test_a_pool_that_fails_leaves_no_task_without_an_answer(pool, monkeypatch):
    monkeypatch.setattr(crew, "KILLED_STARTS", 2)
    own = ProcessPool(PoolSetup(1, native_threads=3), 1 << 27)

    def killing():
        os.kill(os.getpid(), signal.SIGKILL)

    class Killing:
        """Kills the process that loads it."""

        def __call__(self, x):
            return x

        def __reduce__(self):
            return killing, ()

    assert own.crew.begun.wait(60)
    ds = D.range(9).map(Killing()).with_options(ps.Options(executor="processes", workers=1, native_threads=3))
    monkeypatch.setitem(_pools, own.setup, own)
    with pytest.raises(WorkerError, match=r"end before they take a task.*SIGKILL"):
        list(ds)


def test_a_worker_that_dies_in_a_task_is_replaced_and_named(pool, tmp_path, caplog):
    once = tmp_path / "once"

    def dying(x):
        if x == 57 and not once.exists():
            once.touch()
            os.kill(os.getpid(), signal.SIGSEGV)
        return x

    it = D.range(100).map(dying).batch(10).with_options(OPTIONS).iterator()
    assert [batch.tolist() for batch in it] == [list(range(at, at + 10)) for at in range(0, 100, 10)]
    (event,) = it.stats().events
    assert (event.kind, event.operation) == ("died", "batch(10)")
    assert event.rows is not None
    assert event.rows[0] <= 5 < event.rows[1]  # items, which are batches
    assert "SIGSEGV" in event.words
    assert "MB resident" in event.words
    assert "which another worker makes again" in event.words
    assert "dying" in event.words  # the Python stack that faulthandler wrote
    (record,) = [each for each in caplog.records if "SIGSEGV" in each.getMessage()]
    assert record.getMessage() == event.words.partition("; it wrote:\n")[0]  # the rest was forwarded line by line
    assert "SIGSEGV" in it.verdict()
    assert len(pool.crew._members) == 2


def test_a_worker_that_dies_without_a_task_is_logged_and_replaced(pool, readiness):
    records = SimpleQueue()
    handler = QueueHandler(records)
    logging.getLogger("penstock").addHandler(handler)
    try:
        os.kill(pool.crew.pids[0], signal.SIGKILL)
        told = records.get(timeout=PATIENCE).getMessage()
        assert "ended by SIGKILL" in told
        assert told.endswith("; it had no task")
        assert readiness.wait(PATIENCE)
        assert len(pool.crew.pids) == 2
    finally:
        logging.getLogger("penstock").removeHandler(handler)


@pytest.mark.parametrize("code", [0, 3])
def test_a_worker_that_exits_is_replaced(code, tmp_path):
    once = tmp_path / "once"

    def leaving(x):
        if x == 30 and not once.exists():
            once.touch()
            os._exit(code)
        return x

    it = D.range(100).map(leaving).with_options(OPTIONS).iterator()
    assert list(it) == list(range(100))
    assert f"exit code {code}" in it.stats().events[0].words


def test_a_stopped_worker_that_is_killed_never_writes_into_the_slot_again(pool):
    def slow(x):
        return np.full(5000, x) + 0 * sum(range(1000))

    it = D.range(400).map(slow).batch(8).with_options(OPTIONS).iterator()
    got = [next(it)]
    stopped = pool.crew.pids[0]
    os.kill(stopped, signal.SIGSTOP)
    os.kill(stopped, signal.SIGKILL)
    got += list(it)
    assert [int(x) for batch in got for x in batch[:, -1]] == list(range(400))


def test_workers_that_cannot_begin_are_an_error_with_what_they_wrote(tmp_path):
    (tmp_path / "numpy.py").write_text("raise ImportError('a broken installation')\n")
    program = f"""
sys.path.insert(0, {str(tmp_path)!r})
pool = pool_for(PoolSetup(2), 1 << 26)
it = ps.Dataset.counter().map(lambda x: x).with_options(OPTIONS).iterator()
try:
    for x in it:
        pass
except ps.errors.WorkerError as error:
    print(error)
"""
    done = run(program)
    assert done.returncode == 0, done.stderr
    assert "worker processes end before they take a task" in done.stdout
    assert "ImportError: a broken installation" in done.stdout
    assert 'Options(executor="threads")' in done.stdout


class Wanting:
    """A run that wants workers."""


@pytest.fixture
def readiness(pool):
    """An event that is set once a further worker of the pool is ready."""
    begun, take = threading.Event(), pool.crew._take

    def taken(member, message):
        take(member, message)
        if message.head[0] == "ready":
            begun.set()

    pool.crew._take = taken
    if len(pool.crew.pids) < 2:
        assert begun.wait(PATIENCE)
        begun.clear()
    yield begun
    pool.crew._take = take


def test_workers_that_no_run_wants_end_and_return_once_one_wants_them(pool, readiness):
    few, many = Wanting(), Wanting()
    watched = {os.pidfd_open(pid): pid for pid in pool.crew.pids}
    assert len(watched) == 2
    pool.want(many, 2)
    pool.want(few, 1)
    assert (pool.crew.size, len(pool.crew.pids)) == (2, 2)
    pool.let_go(many)
    pool.want(few, 1)
    assert len(connection.wait(watched, PATIENCE)) == 1
    assert len(pool.crew.pids) == 1
    ds = D.range(60).map(lambda x: 2 * int(x)).batch(4).with_options(OPTIONS)
    assert [x for batch in ds for x in batch] == list(range(0, 120, 2))  # the run wants two
    assert readiness.wait(PATIENCE)
    assert len(set(pool.crew.pids) & set(watched.values())) == 1
    assert len(pool.crew.pids) == 2
    for each in watched:
        os.close(each)


def test_a_run_whose_consumer_is_slow_for_a_while_is_the_same(pool, readiness, monkeypatch):
    looks, sizes, resize = count(), [], Crew.resize

    def retuned(climb, now, used, waited):
        wanted = {1: 1, 4: 2}.get(next(looks))
        climb.threads = wanted or climb.threads
        return wanted

    monkeypatch.setattr("penstock.engine.tuning.settings.available_cores", lambda: 2.0)
    monkeypatch.setattr(HillClimb, "retuned", retuned)
    monkeypatch.setattr("penstock.engine.tuning.tuner.Tuner.group_items", lambda tuner, *, beside=False: 1)
    monkeypatch.setattr(Crew, "resize", lambda crew, size: (sizes.append(size), resize(crew, size))[1])
    ds = D.range(400).map(lambda x: 2 * int(x)).shuffle(seed=0).batch(4)
    made = ds.with_options(ps.Options(executor="processes"))
    with made.iterator(epoch=0) as it:
        received = [next(it).tolist() for _ in range(30)]
        state = it.state_dict()
        received += [batch.tolist() for batch in it]
        assert "2 processes: one for each core" in str(it.tuning())
    assert received == [batch.tolist() for batch in ds.iterator(epoch=0)]
    assert [size for size, _ in groupby(sizes)] == [2, 1, 2]
    assert readiness.wait(PATIENCE)
    again = made.iterator()
    again.load_state_dict(state)
    assert [batch.tolist() for batch in again] == received[30:]


def test_a_pool_that_is_let_go_leaves_nothing():
    gc.collect()
    before = open_files()
    pool = ProcessPool(PoolSetup(2), 1 << 24)
    assert pool.crew.begun.wait(60)
    thread, pids = pool.crew._thread, [member.pid for member in pool.crew._members]
    assert len(pids) == 2
    del pool
    gc.collect()
    assert all(map(await_end, pids))
    thread.join(20)
    assert not thread.is_alive()
    assert not any(map(is_alive, pids))
    gc.collect()
    assert open_files() - before == Counter()  # what earlier pools held may have gone since


def test_a_worker_that_does_not_return_is_ended_with_its_pool():
    setup = PoolSetup(1, native_threads=2)
    options = ps.Options(executor="processes", workers=1, native_threads=2)
    from penstock.engine.workers.processes.pool import pool_for

    pool = pool_for(setup, 1 << 24)
    assert pool.crew.begun.wait(60)
    (pid,) = pool.crew.pids

    def endless(x):
        while x == 3:
            pass
        return x

    it = D.range(10).map(endless).batch(1).with_options(options).iterator()
    assert [next(it).tolist() for _ in range(3)] == [[0], [1], [2]]
    del it, pool
    gc.collect()
    assert await_end(pid)


def test_tasks_after_the_end_of_a_pool_are_errors():
    pool = ProcessPool(PoolSetup(1), 1 << 24)
    pool.close()
    pool.crew._thread.join(20)
    answers = []

    class Late:
        dropped = False

        def finish(self, result):
            answers.append(result)

    pool.crew.submit(Late())
    assert isinstance(answers[0], WorkerError)
    assert not pool.is_open

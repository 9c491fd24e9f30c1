"""Workers that others kill at random, all the time: each element comes once, in order, and nothing is left."""

from __future__ import annotations

import gc
import multiprocessing
import os
import random
import signal
import threading
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

import penstock as ps
from penstock.core.errors import WorkerDiedError
from penstock.engine.processes.pool import pool_for
from penstock.engine.processes.starting import PoolSetup
from penstock.engine.workers.suspects import MOST_KILLED
from tests.engine.processes.conftest import pool
from tests.engine.processes.programs import await_end

D = ps.Dataset
__all__ = ["pool"]
SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(["penstock.engine.workers.remote", "cloudpickle"])
PERIOD = 0.04  # seconds between two kills, at most
MOST_KILLS = 40  # each costs the time in which an interpreter starts
BATCHES = 1000


class Killer:
    """Kills one of `pids()` with a random signal in every period, until it is left, or has killed enough."""

    def __init__(self, pids):
        self.pids, self.killed, self.seen = pids, 0, set()
        self._draws, self._over = random.Random(1), threading.Event()
        self._thread = threading.Thread(target=self._run)

    def _run(self):
        while self.killed < MOST_KILLS and not self._over.wait(PERIOD):
            if pids := self.pids():
                self.seen.update(pids)
                with suppress(ProcessLookupError):
                    os.kill(self._draws.choice(pids), self._draws.choice([signal.SIGKILL, signal.SIGTERM]))
                    self.killed += 1

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        self._thread.join()


class Pools:
    """Makes pools that are handed in, and knows the processes of the last one."""

    def __init__(self):
        self.last = None

    def __call__(self):
        self.last = ProcessPoolExecutor(2, SERVER)
        return self.last

    def pids(self):
        return list(getattr(self.last, "_processes", None) or {})


def by_processes():
    pool = pool_for(PoolSetup(2, native_threads=2, budget=1 << 27), 1 << 27)
    assert pool.crew.begun.wait(60)
    return (
        ps.Options(executor="processes", workers=2, native_threads=2, memory_budget=1 << 27),
        pool,
        lambda: pool.crew.pids,
    )


def handed_in():
    pools = Pools()
    return ps.Options(executor=pools), pools, pools.pids


def resources():
    """Return the open descriptors that are no libraries' and the names in shared memory."""
    gc.collect()
    links = []
    for each in os.listdir("/proc/self/fd"):
        with suppress(OSError):
            links.append(os.readlink(f"/proc/self/fd/{each}").split(":")[0])
    return sorted(links), sorted(each.name for each in Path("/dev/shm").iterdir())


@pytest.mark.parametrize("kind", [by_processes, handed_in])
def test_workers_that_are_killed_all_the_time_change_nothing(kind):
    ds = D.range(4 * BATCHES).shuffle(seed=5).map(lambda x: np.full(200, x)).batch(4)
    wanted = [batch[:, 0].tolist() for batch in ds.with_options(ps.Options(executor="inline")).iterator(epoch=0)]
    list(D.range(4).map(lambda x: x).with_options(ps.Options(executor=ProcessPoolExecutor(1, SERVER))))  # starts it
    before = resources()
    options, owner, pids = kind()
    ds, got = ds.with_options(options), []
    with Killer(pids) as killer:
        first = ds.iterator(epoch=0)
        got += [next(first) for _ in range(BATCHES // 2)]
        state, events = first.state_dict(), first.stats().events
        del first
        second = ds.iterator()
        second.load_state_dict(state)
        got += list(second)
    assert [batch[:, 0].tolist() for batch in got] == wanted
    assert all((batch == batch[:, :1]).all() for batch in got)
    assert killer.killed >= 10
    assert events or second.stats().events
    killer.seen.update(pids())
    del ds, second, got, options, owner, pids, killer.pids
    gc.collect()
    assert all(map(await_end, killer.seen))
    assert resources() == before


def test_an_element_that_kills_its_worker_is_named_in_the_end(pool):
    def deadly(x):
        if x == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return x

    got = []
    with pytest.raises(WorkerDiedError, match=rf"row 3 of map\(deadly\) ends[^$]*{MOST_KILLED} workers in a row"):
        got.extend(D.range(10).map(deadly).with_options(ps.Options(executor="processes", workers=2)))
    assert got == [0, 1, 2]

"""Executors that the laws run on, each kept open for the whole module."""

from __future__ import annotations

import multiprocessing
import random
import threading
from collections.abc import Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor

import pytest

from penstock.engine.workers.processes.pool import pool_for
from penstock.engine.workers.processes.starting import MAKES_RUNS, PoolSetup
from tests.moves import move_at_once


class Scrambled(Executor):
    """The least an executor can be: one thread that takes waiting tasks in any order but the right one."""

    def __init__(self) -> None:
        self._random = random.Random(0)
        self._waiting = []
        self._changed = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def submit(self, fn, /, *args, **kwargs):
        future = Future()
        with self._changed:
            if self._closed:
                raise RuntimeError("closed")
            self._waiting.append((future, fn, args, kwargs))
            self._changed.notify()
        return future

    def shutdown(self, wait=True, *, cancel_futures=False):
        with self._changed:
            self._closed = True
            self._changed.notify()
        if wait:
            self._thread.join()

    def _work(self):
        while True:
            with self._changed:
                while not self._waiting:
                    if self._closed:
                        return
                    self._changed.wait()
                task = self._waiting.pop(self._random.randrange(len(self._waiting)))
            future, fn, args, kwargs = task
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(fn(*args, **kwargs))
                except BaseException as error:  # noqa: BLE001 - the future carries it
                    future.set_exception(error)


@pytest.fixture(scope="module")
def scrambled() -> Iterator[Executor]:
    with Scrambled() as executor:
        yield executor


@pytest.fixture(scope="module")
def thread_pool() -> Iterator[Executor]:
    with ThreadPoolExecutor(3) as executor:
        yield executor


@pytest.fixture(scope="module")
def worker_processes() -> Iterator[str]:
    """The name of the executor, while two of its workers are kept ready, so that no task is made here."""
    pool = pool_for(PoolSetup(2), 1 << 28)
    assert pool.crew.begun.wait(60)
    yield "processes"
    pool.close()


@pytest.fixture(scope="module")
def moves() -> Iterator[None]:
    """Move every stage of `executor="auto"` to two processes, kept ready, after its first item."""
    pool = pool_for(PoolSetup(2), 1 << 28)
    assert pool.crew.begun.wait(60)
    with pytest.MonkeyPatch.context() as monkeypatch:
        move_at_once(monkeypatch)
        yield
    pool.close()


@pytest.fixture(scope="module")
def isolation() -> Iterator[None]:
    """Keep the process of isolated runs for all tests of a module."""
    pool = pool_for(PoolSetup(1, program=MAKES_RUNS), 1 << 28)
    assert pool.crew.begun.wait(60)
    yield
    pool.close()


@pytest.fixture(scope="module")
def processes() -> Iterator[Executor]:
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as executor:
        yield executor

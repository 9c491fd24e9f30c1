"""Worker processes that are ready, and worker threads that outlive what they were begun for."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from contextlib import contextmanager

from penstock.engine.workers.executors import Threads
from penstock.engine.workers.lifetime import WORKER
from penstock.engine.workers.processes.pool import pool_for
from penstock.engine.workers.processes.starting import PoolSetup

PATIENCE = 20  # seconds


def two_processes():
    """Yield a pool of two worker processes that are ready: until then, this process would make the tasks.

    It ends with the last fixture that has it: tests of other files share it, and may run in any order.
    """
    made = pool_for(PoolSetup(2), 1 << 28)
    assert made.crew.begun.wait(3 * PATIENCE)
    yield made


@contextmanager
def threads_of(workers):
    """Yield worker threads, and wait for them to end."""
    made = Threads(workers)
    try:
        yield made
    finally:
        made.shutdown()
        await_end_of(made)


def await_end_of(threads):
    """Wait for threads that were shut down."""
    for thread in threads._threads:
        thread.join(PATIENCE)
        assert not thread.is_alive()


def posted(threads, function, *args):
    """Run a function in a worker thread; return a future of its result."""
    future = Future()

    def task():
        try:
            future.set_result(function(*args))
        except BaseException as error:  # noqa: BLE001 - the future has it
            future.set_exception(error)

    assert threads.post(task)
    return future


def await_workers():
    """Wait for every worker thread to end; one that does not fails the test."""
    for thread in threading.enumerate():
        if thread.name == WORKER:
            thread.join(PATIENCE)
            assert not thread.is_alive()

"""Worker processes that are ready, and worker threads that outlive what they were begun for."""

from __future__ import annotations

import threading

from penstock.engine.processes.pool import pool_for
from penstock.engine.processes.starting import PoolSetup
from penstock.engine.workers.lifetime import WORKER

PATIENCE = 20  # seconds


def two_processes():
    """Yield a pool of two worker processes that are ready: until then, this process would make the tasks."""
    made = pool_for(PoolSetup(2), 1 << 28)
    assert made.crew.begun.wait(3 * PATIENCE)
    yield made
    made.close()


def await_workers():
    """Wait for every worker thread to end; one that does not fails the test."""
    for thread in threading.enumerate():
        if thread.name == WORKER:
            thread.join(PATIENCE)
            assert not thread.is_alive()

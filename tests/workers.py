"""Worker threads that outlive what they were begun for, by as long as their last task takes to return."""

from __future__ import annotations

import threading

from penstock.engine.workers.lifetime import WORKER

PATIENCE = 20  # seconds


def await_workers():
    """Wait for every worker thread to end; one that does not fails the test."""
    for thread in threading.enumerate():
        if thread.name == WORKER:
            thread.join(PATIENCE)
            assert not thread.is_alive()

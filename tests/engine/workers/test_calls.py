"""Futures that end without a result. `test_executors` has the executors that take no task."""

from __future__ import annotations

from concurrent.futures import BrokenExecutor, Future

import numpy as np
import pytest

from penstock.core.errors import WorkerError
from penstock.elements.chunks.chunk import Items
from penstock.engine.tasks.task import Job, Task
from penstock.engine.workers.calls import result_of, submitted
from penstock.plan.flow import Piece

JOB = Job(Task(3, 5, Piece(Items([]), np.array([3, 4]))), int)


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

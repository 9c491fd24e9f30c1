"""Run tasks without shared memory: the plan travels once in a file, or with each task if workers share no files."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from penstock.engine.tasks.observer import Observer
from penstock.engine.tasks.task import Made, Task
from penstock.engine.tasks.works import Work

LARGEST_CARRIED = 1 << 16  # bytes of a pickled plan that may travel with every task


@dataclass(frozen=True)
class PickledPlan:
    """A pickled work: its bytes, or the file that holds them."""

    data: bytes | None
    path: str | None

    def load(self) -> Any:
        """Return the unpickled object."""
        import cloudpickle

        if self.data is not None:
            return cloudpickle.loads(self.data)
        with open(str(self.path), "rb") as file:
            return cloudpickle.load(file)

    def remove(self) -> None:
        """Delete the file, if any."""
        if self.path is not None:
            with suppress(FileNotFoundError):
                os.unlink(self.path)


def pickled_plan(work: Work, observer: Observer) -> PickledPlan:
    """Pickle the plan of a work, with functions by value, and the observer that measures it."""
    import tempfile

    import cloudpickle

    data = cloudpickle.dumps((type(work), work.plan, work.numbered_from, observer))
    if len(data) <= LARGEST_CARRIED:
        return PickledPlan(data, None)
    handle, path = tempfile.mkstemp(prefix="penstock-plan-", suffix=".pickle")
    with os.fdopen(handle, "wb") as file:
        file.write(data)
    return PickledPlan(None, path)


def run_remotely(plan: PickledPlan, task: Task) -> tuple[Made, Any]:
    """Make a task in the worker's process; return its result and the counts of its observer."""
    work, observer = _unpickled_from_file(plan) if plan.data is None else _unpickled_from_data(plan)
    return work.make(task), observer.drain()


def _unpickled(plan: PickledPlan) -> tuple[Work, Observer]:
    kind, node, numbered_from, observer = plan.load()
    return kind(node, _fresh, observer, numbered_from), observer


_unpickled_from_file = lru_cache(maxsize=4)(_unpickled)
_unpickled_from_data = lru_cache(maxsize=64)(_unpickled)  # small plans: virtual streams have many that differ in a seed


def _fresh(shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
    return np.empty(shape, dtype)

"""Run tasks without shared memory: the plan travels once in a file, or with each task if workers share no files."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np

from penstock.engine.tasks.observer import Observer
from penstock.engine.tasks.task import Made, Task
from penstock.engine.tasks.works import Work
from penstock.plan.graph import post_order
from penstock.plan.node import Node

T = TypeVar("T")
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


def _unpicklable(plan: Node, dumps: Callable[[Any], bytes]) -> str | None:
    """Return the operation whose function cannot be pickled, with the variable of the function at fault, if any."""
    for node in post_order(plan):
        for function in node.functions:
            if not _fails(dumps, function):
                continue
            code = getattr(function, "__code__", None)
            used = {} if code is None else {name: function.__globals__.get(name) for name in code.co_names}
            cells = () if code is None else zip(code.co_freevars, function.__closure__ or (), strict=True)
            for name, cell in cells:
                with suppress(ValueError):  # an empty cell
                    used[name] = cell.cell_contents
            used |= vars(function) if code is None and hasattr(function, "__dict__") else {}
            at_fault = next((name for name, value in used.items() if _fails(dumps, value)), None)
            return f"{at_fault} in {node.label()}" if at_fault else f"the function of {node.label()}"
    return None


def _fails(dumps: Callable[[Any], bytes], value: Any) -> bool:
    try:
        dumps(value)
    except Exception:  # noqa: BLE001 - the caller raises the first one
        return True
    return False


def dumped_plan(work: Work, observer: Observer, dump: Callable[[Any, Callable[..., bytes]], T]) -> T:
    """Return what `dump(value, dumps)` makes of a work's plan, with functions by value, and the observer of it."""
    import cloudpickle

    try:
        return dump((type(work), work.plan, work.numbered_from, observer), cloudpickle.dumps)
    except Exception as error:
        if named := _unpicklable(work.plan, cloudpickle.dumps):
            error.add_note(f"{named} cannot be pickled for the workers: make it inside the function, or use threads")
        raise


def pickled_plan(work: Work, observer: Observer) -> PickledPlan:
    """Pickle the plan of a work for an executor."""
    import tempfile

    data = dumped_plan(work, observer, lambda value, dumps: dumps(value))
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
    return kind(node, fresh, observer, numbered_from), observer


_unpickled_from_file = lru_cache(maxsize=4)(_unpickled)
_unpickled_from_data = lru_cache(maxsize=64)(_unpickled)  # small plans: virtual streams have many that differ in a seed


def fresh(shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
    """Return new memory for an array."""
    return np.empty(shape, dtype)

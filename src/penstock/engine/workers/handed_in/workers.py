"""The workers of an executor in other processes or on other hosts."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from penstock.core.arrays import Rows
from penstock.core.cached import cached_property
from penstock.engine.tasks.observer import Observer
from penstock.engine.tasks.read_ahead import source_rows
from penstock.engine.tasks.task import Job, Result, Task
from penstock.engine.tasks.works import Work
from penstock.engine.workers.handed_in.call import Call, Packing
from penstock.engine.workers.handed_in.pickled import PickledPlan
from penstock.engine.workers.handed_in.remote import Pickled
from penstock.plan.node import Node
from penstock.sources.powers import fetched_row_bytes
from penstock.transport.dumped_plan import is_same_work

if TYPE_CHECKING:
    from penstock.engine.workers.handed_in.replaceable import ReplaceableExecutor

PlaceOf: TypeAlias = Callable[[Task], int | None]
"""Function from a task to its place."""

STRETCH = 16 << 20  # bytes of a place: data of the largest request
MOSTLY = 2  # one in this many rows of a task lies in its place


class RemoteWorkers:
    """Workers of an executor in other processes or hosts: the plan travels to them, and tasks as `pack` makes them."""

    shares_gil = False
    is_tuned = False
    ready = True

    def __init__(
        self,
        work: Work,
        executor: ReplaceableExecutor,
        observer: Observer,
        plan: PickledPlan,
        pack: Packing = Pickled,
        *,
        is_far: bool = True,
    ) -> None:
        """Let the executor make tasks; one that `is_far` carries their results here, instead of sharing memory."""
        self.work = work
        self.observer = observer
        self.is_far = is_far
        self.plan = plan
        self.pack = pack
        self._executor = executor

    @property
    def name(self) -> str:
        return self._executor.name

    @cached_property
    def place(self) -> PlaceOf:
        """The function that tells the place of a task."""
        return place_in(self.work.plan)

    def is_of(self, work: Work, observer: Observer) -> bool:
        """Return whether the workers do this work, for this observer."""
        return self.observer is observer and is_same_work(self.work, work)

    def submit(
        self, job: Job, number: int, done: Callable[[Result], object], may_begin: Callable[[], bool] | None = None
    ) -> None:
        self._executor.submit(Call(self, job, job.tasks[number], done, may_begin))

    def admit(self) -> None:
        """Send the calls that may begin now."""
        self._executor.admit()


def place_in(plan: Node) -> PlaceOf:
    """Return the function that tells the place of tasks of a plan: equal for equal data, in each epoch and process.

    A task has no place, `None`, if it reads local data, if its rows come from all over the data, as those of a
    `shuffle()` over everything, or if it is given elements.
    """
    rows_below = source_rows(plan, lambda node: fetched_row_bytes(getattr(node, "source", None)) > 0)

    def place(task: Task) -> int | None:
        if rows_below is None or len(task.given.chunk):
            return None
        for node, rows in rows_below(task.given.ids):
            row_bytes = fetched_row_bytes(getattr(node, "source", None))
            return _of_most(rows % node.stride // max(int(STRETCH / row_bytes), 1))
        return None

    return place


def _of_most(stretches: Rows) -> int | None:
    """Return the stretch in the middle if many rows are there; those of a run in order, or by blocks, are."""
    middle = int(np.partition(stretches, len(stretches) // 2)[len(stretches) // 2])
    return middle if MOSTLY * np.count_nonzero(stretches == middle) >= len(stretches) else None

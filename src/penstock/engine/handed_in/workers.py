"""The workers of an executor in other processes or on other hosts."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from penstock.core.cached import cached_property
from penstock.engine.handed_in.call import Call, Packing
from penstock.engine.handed_in.pickled import PickledPlan
from penstock.engine.handed_in.places import PlaceOf, place_in
from penstock.engine.handed_in.remote import Pickled
from penstock.engine.tasks.observer import Observer
from penstock.engine.tasks.task import Job, Result
from penstock.engine.tasks.works import Work
from penstock.plan.graph import same_plan

if TYPE_CHECKING:
    from penstock.engine.handed_in.replaceable import ReplaceableExecutor


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
        mine = self.work
        is_alike = self.observer is observer and mine.numbered_from == work.numbered_from and type(mine) is type(work)
        return is_alike and same_plan(mine.plan, work.plan)

    def submit(
        self, job: Job, number: int, done: Callable[[Result], object], may_begin: Callable[[], bool] | None = None
    ) -> None:
        self._executor.submit(Call(self, job, job.tasks[number], done, may_begin))

    def admit(self) -> None:
        """Send the calls that may begin now."""
        self._executor.admit()

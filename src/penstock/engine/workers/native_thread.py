"""The workers that gather batches by a native thread next to the consumer."""

from __future__ import annotations

from collections.abc import Callable

from penstock.engine.tasks.cost import Cost
from penstock.engine.tasks.gathering import Gathering
from penstock.engine.tasks.task import Job, Made
from penstock.engine.tasks.works import Work
from penstock.engine.workers.protocol import TaskResults
from penstock.plan.flow import Piece


class NativeThread:
    """Workers that gather batches by a native thread while the consumer continues; other tasks run at once.

    Batches of different sizes cannot be gathered together. Once other batches cannot be gathered, `gathers` is false.
    """

    name = "inline"
    shares_gil = False
    is_tuned = False
    ready = True

    def __init__(self, work: Work, gathering: Gathering, item_bytes: Callable[[], int]) -> None:
        self._work = work
        self._gathering = gathering
        self._item_bytes = item_bytes

    @property
    def gathers(self) -> bool:
        """True as long as an attempt is worthwhile."""
        return self._gathering.is_possible

    def submit(self, job: Job, number: int, window: TaskResults) -> None:
        task = job.tasks[number]
        queue = self._gathering.begin(task, self._item_bytes())
        if queue is None:
            window.finish(job, number, self._work.tried(task))
        else:
            job.sized = True  # as reserved: the batches are yet to be made
            window.finish(job, number, Made(Piece(queue, task.given.ids), (0, Cost(0, 0))))

    def admit(self) -> None:
        """Do nothing: no task waits."""

    def close(self) -> None:
        """Release the thread."""
        self._gathering.close()

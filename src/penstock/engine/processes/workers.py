"""The workers of a stage in a pool of processes."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from time import time
from typing import Any

from penstock.core.events import RunEvent
from penstock.engine.processes.plans import SharedPlan
from penstock.engine.processes.pool import ProcessPool
from penstock.engine.processes.ticket import Ticket
from penstock.engine.tasks.observer import Observer
from penstock.engine.tasks.task import Job, Result, Task
from penstock.engine.transport.unsent import undelivered
from penstock.ops.group.batching import batching_of
from penstock.ops.group.grouping import Grouping


class ProcessWorkers:
    """Workers that make the tasks of one work in processes, which write batches into the slots directly."""

    shares_gil = False
    is_tuned = True

    def __init__(
        self,
        pool: ProcessPool,
        plan: SharedPlan,
        observer: Observer,
        note: Callable[[RunEvent], None],
        *,
        stuck_after: float = math.inf,
        ends_stuck: bool = False,
        waits: bool = False,
    ) -> None:
        """Send tasks of `plan` to a pool; `note` is called by any thread when a worker dies, or is stuck.

        If it `ends_stuck` workers, one that takes longer than `stuck_after` for each element of its task is ended. If
        it `waits`, one is ready by the end of this call, or none ever will be.
        """
        self.plan = plan
        self.observer = observer
        self.stuck_after = stuck_after
        self._ends_stuck = ends_stuck
        self._note = note
        self._crew, self._arena = pool.crew, pool.arena  # without the pool, so that tasks under way do not keep it
        self.notice = pool.notice
        """A notice for the user about the memory of the pool, if there is one."""
        if waits:
            self._crew.begun.wait()

    @property
    def name(self) -> str:
        workers = self._crew.size
        return f"{workers} process{'' if workers == 1 else 'es'}"

    @property
    def ready(self) -> bool:
        """True once a worker takes tasks; until then, tasks are made in this process."""
        return self._crew.ready

    @property
    def no_start(self) -> str | None:
        """The reason why not one process could be started, if so."""
        return self._crew.no_start

    def submit(
        self, job: Job, number: int, done: Callable[[Result], object], may_begin: Callable[[], bool] | None = None
    ) -> None:
        def ended(result: Result, counted: Any) -> None:
            if counted is not None:
                self.observer.absorb(counted)
            done(result)

        try:
            ticket = Ticket(self, job.tasks[number], self._arena, ended, may_begin)
        except Exception as error:  # noqa: BLE001 - an element that cannot be pickled; the consumer raises it
            done(self.explained(error, "not packed"))
            return
        job.futures.append(ticket)
        self._crew.submit(ticket)

    def admit(self) -> None:
        """Let the crew look again at tasks that wait for room."""
        self._crew.admit()

    def most_seconds(self, task: Task | None) -> float:
        """Return the seconds that one element may take, or a task: if longer, one of its elements takes too long."""
        if not self._ends_stuck:
            return math.inf
        if task is None:
            return self.stuck_after
        batching = None if task.part is not None else batching_of(self.plan.work.plan)
        size = batching.size if isinstance(batching, Grouping) else 1
        return self.stuck_after * size * len(task.given)

    def note(self, kind: str, task: Task, words: str, wrote: str = "") -> None:
        """Note that a worker with a task in hand died, or is stuck; what it `wrote` is forwarded, and not logged."""
        told = f"{words}; it wrote:\n{wrote}" if wrote else words
        self._note(RunEvent(time(), kind, self.plan.work.plan.label(), (task.low, task.high), told))
        logging.getLogger("penstock").warning("%s", words)

    def explained(self, error: BaseException, kind: str) -> BaseException:
        """Return the error for the consumer, with the operation and what to do."""
        return undelivered(self.plan.work.plan, error, kind)

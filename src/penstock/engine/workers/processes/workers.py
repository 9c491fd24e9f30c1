"""The workers of a stage in a pool of processes, also those that take over from threads while a run is under way."""

from __future__ import annotations

import logging
import math
import threading
from collections.abc import Callable
from functools import partial
from time import time
from typing import TYPE_CHECKING, Any

from penstock.core.errors import WorkerError
from penstock.core.events import RunEvent
from penstock.engine.tasks.observer import Observer
from penstock.engine.tasks.task import Job, Result, Task
from penstock.engine.workers.processes.plans import SharedPlan
from penstock.engine.workers.processes.pool import ProcessPool
from penstock.engine.workers.processes.ticket import Ticket
from penstock.ops.group.batching import batching_of
from penstock.ops.group.grouping import Grouping
from penstock.plan.quota import QuotaExceeded
from penstock.transport.unsent import undelivered

if TYPE_CHECKING:
    from penstock.engine.workers.executors import Workers
    from penstock.plan.safety.reads import Reads

CHANGED = "the program has changed a value that its functions read"


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


class MovedWorkers(ProcessWorkers):
    """Worker processes instead of threads, as long as both make the same elements.

    Threads make a task again if it failed in a worker. If they can make it, they make all later ones too: it may have
    read what only this process has. A task with which a worker has ended is never made here, as it would end this
    process.
    """

    def __init__(
        self, threads: Workers, reads: Reads, note_return: Callable[[str], None], *given: Any, **options: Any
    ) -> None:
        """Go back to these threads once `reads` have changed, and call `note_return` with the reason, in any thread.

        The other arguments are those of `ProcessWorkers`.
        """
        super().__init__(*given, **options)
        self.threads = threads
        self.is_back = False
        self._reads = self.plan.reads or reads
        self._note_return = note_return
        self._ended_with: set[tuple[int, tuple[int, int] | None]] = set()
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        return self.threads.name if self.is_back else super().name

    @property
    def obstacle(self) -> str | None:
        """The reason why no worker takes tasks, if so."""
        failure = self._crew.failure
        return self.no_start or (None if failure is None else str(failure).splitlines()[0])

    def submit(
        self, job: Job, number: int, done: Callable[[Result], object], may_begin: Callable[[], bool] | None = None
    ) -> None:
        if not self.is_back and self._reads.changed:
            self.go_back(CHANGED)
        if self.is_back:
            self.threads.submit(job, number, done)
        else:
            super().submit(job, number, partial(self._answered, job, number, done), may_begin)

    def go_back(self, why: str) -> None:
        """Send all later tasks to the threads."""
        with self._lock:
            is_back, self.is_back = self.is_back, True
        if not is_back:
            self._note_return(why)

    def note(self, kind: str, task: Task, words: str, wrote: str = "") -> None:
        if kind == "died":
            self._ended_with.add((task.low, task.part))
        super().note(kind, task, words, wrote)

    def explained(self, error: BaseException, kind: str) -> BaseException:
        return _NotMadeError(super().explained(error, kind))

    def _answered(self, job: Job, number: int, done: Callable[[Result], object], result: Result) -> None:
        """Pass on the result of a task, or let the threads make it."""
        task = job.tasks[number]
        error = result.error if isinstance(result, _NotMadeError) else result
        is_final = isinstance(error, QuotaExceeded) or (task.low, task.part) in self._ended_with
        if not isinstance(error, BaseException) or is_final:
            done(error)
            return
        if error is not result or error is self._crew.failure:
            self.go_back(str(error).splitlines()[0])

        def made_here(second: Result) -> None:
            if not isinstance(second, BaseException):
                self.go_back(f"a worker failed, unlike this process: {type(error).__name__}: {error}")
            done(second)

        self.threads.submit(job, number, made_here)


class _NotMadeError(WorkerError):
    """The error of a task that a worker could not load or send, and has not made."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(str(error))
        self.error = error

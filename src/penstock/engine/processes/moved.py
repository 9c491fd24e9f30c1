"""Worker processes that take over from threads while a run is under way, and give way to them again."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from penstock.core.errors import WorkerError
from penstock.engine.processes.workers import ProcessWorkers
from penstock.engine.tasks.task import Job, Result, Task
from penstock.plan.quota import QuotaExceeded

if TYPE_CHECKING:
    from penstock.engine.workers.executors import Workers
    from penstock.plan.safety.reads import Reads

CHANGED = "the program has changed a value that its functions read"


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

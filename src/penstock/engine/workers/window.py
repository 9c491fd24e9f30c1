"""The jobs under way, and the consumer's wait for the next: on a condition, never on a clock."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from functools import partial

from penstock.core.budget import Account, unlimited
from penstock.core.errors import ClosedError
from penstock.engine.tasks.task import Job, Result

WHILE_WAITING = "this iterator was closed while it waited for its next item"


class Window:
    """Jobs in the order they were begun; `pop` takes out the oldest, or the first one done if not `ordered`.

    Their bytes are counted in an `account`: those reserved for a job until it is done, then those that it made.
    """

    def __init__(self, *, ordered: bool, account: Account | None = None) -> None:
        self._ordered = ordered
        self._account = account or unlimited()
        self._jobs: deque[Job] = deque()
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._awaited = False  # true while a thread waits for the next job
        self._closed = False
        self.tasks = 0
        """The number of tasks of all jobs under way."""
        self.done = 0
        """The number of tasks that have ended, and wait for others before them."""
        self.items = 0
        """The number of items of all jobs under way."""
        self.nbytes = 0
        """The number of bytes of all jobs under way."""
        self.largest = 0
        """The bytes of the largest item made, of its job's mean, since this was last set to 0."""

    def __len__(self) -> int:
        return len(self._jobs)

    @property
    def unfinished(self) -> int:
        """The number of jobs with tasks that have not ended."""
        return sum(job.missing > 0 for job in list(self._jobs))

    @property
    def waits(self) -> bool:
        """True if the next job is not done yet."""
        return self._next_done() is None

    def admission(self, job: Job) -> Callable[[], bool] | None:
        """Return the function that says whether workers may begin a job; `None` unless the user has given the budget.

        They may always begin the oldest job, and others while all that is made fits the budget. Jobs reserved room for
        what was expected of them. If those before have made more, the others wait.
        """
        return partial(self._admits, job) if self._account.budget.given else None

    def _admits(self, job: Job) -> bool:
        with self._lock:
            if self._closed or not self._jobs or job is self._jobs[0]:
                return True
        return self._account.budget.left >= 0

    def push(self, job: Job) -> None:
        """Add a job whose tasks are about to begin."""
        with self._lock:  # a thread may add jobs while others are taken out
            self._jobs.append(job)
            self.tasks += len(job.tasks)
            self.items += job.items
            self._count(job.nbytes)

    def finish(self, job: Job, number: int, result: Result) -> None:
        """Store the result of a task; called from any thread."""
        nbytes = job.bytes_of(result)  # before others have to wait: it may take 0.1 ms
        with self._lock:
            job.finish(number, result, nbytes)
            self.done += not self._closed
            if job.missing == 0:
                if not self._closed:
                    self._count(job.settle())
                    self.largest = max(self.largest, job.nbytes // max(job.items, 1))
                job.futures.clear()  # futures hold the job: a cycle would keep its memory until collected
                if self._awaited:
                    self._changed.notify_all()

    def pop(self) -> Job:
        """Wait for the next job and take it out; raise a `ClosedError` if the window is closed meanwhile."""
        with self._lock:
            while not self._closed:
                job = self._next_done()
                if job is not None:
                    self._take(job)
                    self._count(-job.nbytes)
                    return job
                self._awaited = True
                try:
                    self._changed.wait()
                finally:
                    self._awaited = False
        raise ClosedError(WHILE_WAITING)

    def pop_ready(self, most: int, after: int) -> list[Job]:
        """Take out up to `most` more jobs that are done, whole and without failure, and whose items follow `after`.

        A job that announces a mark is left: its mark is passed on before its items.
        """
        ready: list[Job] = []
        with self._lock:
            while len(ready) < most and self._jobs and (job := self._next_done()) is not None:
                if job.failed or job.is_cut or job.announces or job.task.low != after:
                    break
                self._take(job)
                ready.append(job)
                after = job.task.high
            self._count(-sum([job.nbytes for job in ready]))
        return ready

    def _take(self, job: Job) -> None:
        if job is self._jobs[0]:
            self._jobs.popleft()
        else:
            self._jobs.remove(job)
        self.tasks -= len(job.tasks)
        self.done -= len(job.tasks)
        self.items -= job.items

    def _count(self, nbytes: int) -> None:
        if nbytes:
            self.nbytes += nbytes
            self._account.add(nbytes)

    def _next_done(self) -> Job | None:
        if self._ordered:
            oldest = self._jobs[0]
            return oldest if oldest.missing == 0 else None
        return next((job for job in self._jobs if job.missing == 0), None)

    def close(self) -> None:
        """Drop every job, cancel tasks that have not begun, and wake the waiting thread."""
        with self._lock:
            self._closed = True
            dropped = self._forget_all()
            self._changed.notify_all()
        futures = [future for job in dropped for future in job.futures]
        for future in futures:
            future.cancel()

    def after_fork(self) -> None:
        """Forget every job in a forked child, without the lock, which a thread of the parent may have held."""
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._awaited = False
        self._forget_all()

    def _forget_all(self) -> list[Job]:
        dropped = list(self._jobs)
        self._jobs.clear()
        self._count(-self.nbytes)
        self.tasks = self.done = self.items = 0
        return dropped

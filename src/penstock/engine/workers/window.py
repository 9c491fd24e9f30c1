"""The jobs under way, and the consumer's wait for the next: on a condition, never on a clock."""

from __future__ import annotations

import threading
from collections import deque

from penstock.core.budget import Account, unlimited
from penstock.core.errors import ClosedError
from penstock.engine.tasks.task import Job, Result, bytes_made

WHILE_WAITING = "this iterator was closed while it waited for its next item"


class Window:
    """Jobs in the order they were begun; `pop` takes out the oldest, or the first one done if not `ordered`.

    Their bytes are counted in an `account`.
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

    def admits(self, job: Job) -> bool:
        """Return whether workers may begin a job, under a budget that the user has given.

        They may always begin the oldest job, and others while all that is made fits the budget. Jobs reserved room for
        what was expected of them. If those before have made more, the others wait.
        """
        with self._lock:
            if self._closed or not self._jobs or job is self._jobs[0]:
                return True
        return self._account.budget.left >= 0

    def push(self, job: Job) -> None:
        """Add a job whose tasks are about to begin."""
        with self._lock:  # a thread may add jobs while others are taken out
            self._jobs.append(job)
            self.tasks += len(job.tasks)
            self.done += len(job.tasks) - job.missing  # the first tasks of a run may have been made inline
            self.items += job.items
            nbytes = job.nbytes + job.reserved
            if nbytes:
                self.nbytes += nbytes
                self._account.add(nbytes)

    def finish(self, job: Job, number: int, result: Result) -> None:
        """Store the result of a task; called from any thread."""
        made = bytes_made(result) if job.looked_at else 0  # before others have to wait: it may take 0.1 ms
        with self._lock:
            if not self._closed:
                self.done += 1
                given_back = job.reserved // job.missing
                job.nbytes += made
                job.reserved -= given_back
                if made != given_back:
                    self.nbytes += made - given_back
                    self._account.add(made - given_back)
            job.finish(number, result)
            if job.missing == 0:
                if job.looked_at:
                    self.largest = max(self.largest, job.nbytes // max(job.items, 1))
                if job.futures:
                    job.futures.clear()  # futures hold the job: a cycle would keep its memory until collected
                if self._awaited:
                    self._changed.notify_all()

    def pop(self, most: int = 0) -> list[Job]:
        """Wait for the next job and take it out; raise a `ClosedError` if the window is closed meanwhile.

        If that job is whole, up to `most` others are taken out with it: those that are done and whole too, and whose
        items follow. A job that announces a mark is taken out alone: its mark is passed on before its items.
        """
        with self._lock:
            while not self._closed:
                job = self._next_done()
                if job is not None:
                    self._take(job)
                    joins = most and self._jobs and job.is_whole and not job.announces
                    return [job, *self._behind(job, most)] if joins else [job]
                self._awaited = True
                try:
                    self._changed.wait()
                finally:
                    self._awaited = False
        raise ClosedError(WHILE_WAITING)

    def _behind(self, before: Job, most: int) -> list[Job]:
        """Take out the jobs that follow one that is whole."""
        behind: list[Job] = []
        while len(behind) < most and self._jobs and (job := self._next_done()) is not None:
            if job.announces or job.task.low != before.task.high or not job.is_whole:
                break
            self._take(job)
            behind.append(before := job)
        return behind

    def _take(self, job: Job) -> None:
        if job is self._jobs[0]:
            self._jobs.popleft()
        else:
            self._jobs.remove(job)
        self.tasks -= len(job.tasks)
        self.done -= len(job.tasks)
        self.items -= job.items
        if job.nbytes:
            self.nbytes -= job.nbytes
            self._account.add(-job.nbytes)

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
        self._account.add(-self.nbytes)
        self.tasks = self.done = self.items = self.nbytes = 0
        return dropped

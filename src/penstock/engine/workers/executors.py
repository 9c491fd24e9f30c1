"""Workers that run tasks in threads: those of the run, or those of an executor that is handed in."""

from __future__ import annotations

import sys
import threading
from concurrent.futures import BrokenExecutor, Executor, Future
from functools import partial
from typing import TYPE_CHECKING, Any

from penstock.core.errors import ClosedError, WorkerError
from penstock.engine.tasks.cost import Contention
from penstock.engine.tasks.task import Job, Made, Result, Task
from penstock.engine.tasks.works import Work
from penstock.engine.workers.calls import items_of, result_of, submitted
from penstock.engine.workers.protocol import TaskResults
from penstock.engine.workers.threads import Threads
from penstock.engine.workers.window import WHILE_WAITING
from penstock.plan.quota import QuotaExceeded

if TYPE_CHECKING:
    pass


class _Serving(threading.local):
    """The executors whose tasks this thread is running, the innermost last."""

    def __init__(self) -> None:
        self.executors: list[Executor] = []


_serving = _Serving()


class ThreadWorkers:
    """Workers that run tasks in threads, which write directly into the slots."""

    shares_gil = True
    is_tuned = True
    ready = True

    def __init__(self, work: Work, executor: Threads | Executor) -> None:
        """Run tasks in the threads of the run, or in those of an executor of the user's."""
        self._work = work
        work.meter.contention = work.meter.contention or Contention()
        self._executor = executor

    @property
    def name(self) -> str:
        workers = self._executor.workers if isinstance(self._executor, Threads) else None
        return f"{workers} thread{'' if workers == 1 else 's'}" if workers else type(self._executor).__name__

    def submit(self, job: Job, number: int, window: TaskResults) -> None:
        executor = self._executor
        if isinstance(executor, Threads):
            if not executor.post(partial(self._make, job, number, window)):
                window.finish(job, number, ClosedError(WHILE_WAITING))
            return
        try:
            future = submitted(executor, job, self._serve, executor, job.tasks[number])
        except BrokenExecutor as error:  # while earlier items were under way
            window.finish(job, number, _died(job, error))
            return
        job.futures.append(future)

        def done(future: Future[Any]) -> None:
            result = result_of(future, job)
            window.finish(job, number, _died(job, result) if isinstance(result, BrokenExecutor) else result)

        future.add_done_callback(done)

    def _serve(self, executor: Executor, task: Task) -> Made:
        _serving.executors.append(executor)
        try:
            return self._work.make(task)
        finally:
            _serving.executors.pop()

    def _make(self, job: Job, number: int, window: TaskResults) -> None:
        try:
            result: Result = self._work.make(job.tasks[number])
        except QuotaExceeded as error:
            result = error.with_traceback(None)  # its frames hold the elements made, and refer to the job
        except BaseException as error:  # noqa: BLE001 - handed to the consumer, which raises it
            result = error
        window.finish(job, number, result)

    def admit(self) -> None:
        """Do nothing: the jobs that the loop begins are few enough, since results are not copied."""


def is_remote(executor: object) -> bool:
    """Return whether the tasks of an executor, or of those that a function makes, see other memory than ours."""
    pools = sys.modules.get("concurrent.futures.thread")  # not imported here: after the main thread, that fails
    return pools is None or not isinstance(executor, pools.ThreadPoolExecutor)


def serves(executor: object) -> bool:
    """Return whether this thread is running a task of the executor, which may have no other thread left."""
    return any(each is executor for each in _serving.executors)


def _died(job: Job, error: BrokenExecutor) -> WorkerError:
    died = WorkerError(
        f"the executor broke while {items_of(job)} were under way: {error}. The saved state still counts these items "
        "as not received: load state_dict() into an iterator with a new executor"
    )
    died.__cause__ = error
    return died

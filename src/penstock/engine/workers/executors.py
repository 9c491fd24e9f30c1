"""Workers that run tasks elsewhere: threads of the run, the caller's threads, or an executor without shared memory."""

from __future__ import annotations

import threading
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ThreadPoolExecutor
from functools import partial
from typing import Any

from penstock.core.errors import WorkerError
from penstock.engine.tasks.observer import Observer
from penstock.engine.tasks.task import Job, Made, Result, Task
from penstock.engine.tasks.works import Work
from penstock.engine.workers.remote import PickledPlan, pickled_plan, run_remotely
from penstock.engine.workers.threads import Threads
from penstock.engine.workers.window import Window


class _Serving(threading.local):
    """The executors whose tasks this thread is running, the innermost last."""

    def __init__(self) -> None:
        self.executors: list[Executor] = []


_serving = _Serving()


class ThreadWorkers:
    """Workers that run tasks in threads, which write directly into the slots."""

    shares_gil = True
    ready = True

    def __init__(self, work: Work, executor: Executor) -> None:
        self._work = work
        self._executor = executor
        self._own = executor if isinstance(executor, Threads) else None

    @property
    def name(self) -> str:
        workers = None if self._own is None else self._own.workers
        return f"{workers} thread{'' if workers == 1 else 's'}" if workers else type(self._executor).__name__

    def submit(self, job: Job, number: int, window: Window) -> None:
        if self._own is not None and self._own.post(partial(self._make, job, number, window)):
            return
        future = _submitted(self._executor, job, self._serve, job.tasks[number])
        job.futures.append(future)
        future.add_done_callback(lambda done: window.finish(job, number, _result(done, job)))

    def _serve(self, task: Task) -> Made:
        _serving.executors.append(self._executor)
        try:
            return self._work.make(task)
        finally:
            _serving.executors.pop()

    def _make(self, job: Job, number: int, window: Window) -> None:
        try:
            result: Result = self._work.make(job.tasks[number])
        except BaseException as error:  # noqa: BLE001 - handed to the consumer, which raises it
            result = error
        window.finish(job, number, result)

    def close(self) -> None:
        pass  # threads belong to the run or to the caller


class RemoteWorkers:
    """Workers of an executor in other processes or hosts: the plan travels to them, and results travel back."""

    shares_gil = False
    ready = True

    def __init__(self, work: Work, executor: Executor, observer: Observer) -> None:
        self.work = work
        self.observer = observer
        self._executor = executor
        self._plan: PickledPlan = pickled_plan(work, observer)

    @property
    def name(self) -> str:
        return type(self._executor).__name__

    def submit(self, job: Job, number: int, window: Window) -> None:
        task = job.tasks[number]._replace(slot=None)  # memory does not travel
        future = _submitted(self._executor, job, run_remotely, self._plan, task)
        job.futures.append(future)

        def done(future: Future[Any]) -> None:
            result = _result(future, job)
            if isinstance(result, tuple):
                result, counted = result
                self.observer.absorb(counted)
            window.finish(job, number, result)

        future.add_done_callback(done)

    def close(self) -> None:
        self._plan.remove()


def shares_memory(executor: Executor) -> bool:
    """Return whether the executor's tasks see the memory of this process."""
    return isinstance(executor, ThreadPoolExecutor | Threads)


def serves(executor: object) -> bool:
    """Return whether this thread is running a task of the executor, which may have no other thread left."""
    return any(each is executor for each in _serving.executors)


def _submitted(executor: Executor, job: Job, function: Any, *args: Any) -> Future[Any]:
    """Return the task's future; if the executor takes no task, a failed future, so that earlier items come first."""
    name = type(executor).__name__
    try:
        given: Any = executor.submit(function, *args)
        if callable(getattr(given, "add_done_callback", None)):
            return given
        refused = WorkerError(
            f"{name}.submit() returned {type(given).__name__} for the task of {_items(job)}; it must return a "
            "concurrent.futures.Future"
        )
    except BrokenExecutor as error:  # the executor broke while earlier items were under way
        refused = _died(job, error)
    except RuntimeError as error:
        refused = WorkerError(
            f"the {name} accepted no task for {_items(job)}: {error}. "
            "Keep it open for as long as the iterator is in use"
        )
        refused.__cause__ = error
    except Exception as error:  # noqa: BLE001 - the consumer raises it in its turn
        refused = WorkerError(f"the {name} accepted no task for {_items(job)}: {type(error).__name__}: {error}")
        refused.__cause__ = error
    future: Future[Any] = Future()
    future.set_exception(refused)
    return future


def _result(future: Future[Any], job: Job) -> Any:
    try:
        return future.result()
    except CancelledError as error:
        cancelled = WorkerError(f"the task of {_items(job)} was canceled by its executor")
        cancelled.__cause__ = error
        return cancelled
    except BrokenExecutor as error:
        return _died(job, error)
    except BaseException as error:  # noqa: BLE001 - handed to the consumer, which raises it
        return error


def _died(job: Job, error: BrokenExecutor) -> WorkerError:
    died = WorkerError(
        f"a worker died while {_items(job)} were under way: {error}. The saved state still counts these items as "
        "not received: load state_dict() into an iterator with a new executor"
    )
    died.__cause__ = error
    return died


def _items(job: Job) -> str:
    return f"items {job.task.low} to {job.task.high}"

"""Workers: their protocol, those in threads of the run or of an executor, and how an executor is called."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Protocol, cast

from penstock.core.errors import ClosedError, WorkerError
from penstock.core.surroundings import serving
from penstock.engine.tasks.cost import Contention
from penstock.engine.tasks.task import Job, Made, Result, Task
from penstock.engine.tasks.works import Work
from penstock.engine.workers.lifetime import worker_thread
from penstock.engine.workers.window import WHILE_WAITING
from penstock.memory.cores import only_on
from penstock.plan.quota import QuotaExceeded

if TYPE_CHECKING:
    from penstock.executors.protocol import Placing


class Workers(Protocol):
    """Workers that begin the tasks of jobs, and tell the result of each."""

    @property
    def name(self) -> str: ...

    shares_gil: bool
    is_tuned: bool
    """True if the tuner chooses how many there are, or measures what they make."""

    @property
    def ready(self) -> bool:
        """True once tasks may be submitted; until then, the loop makes them itself."""
        ...

    def submit(
        self, job: Job, number: int, done: Callable[[Result], object], may_begin: Callable[[], bool] | None = None
    ) -> None:
        """Begin a task of a job, and call `done` with its result, in any thread.

        A task that leaves this process begins once `may_begin` returns true, if it is given.
        """
        ...

    def admit(self) -> None:
        """Look again at the tasks that may not begin, now that there is more room."""
        ...


class Threads:
    """Daemon threads that run tasks in the order in which they come, and whose number can change meanwhile.

    `concurrent.futures.ThreadPoolExecutor` joins its threads when the interpreter ends; a task asleep in a user's
    function would delay that. Here `shutdown` returns at once, and a thread ends after the task in hand. Tasks have no
    futures, which would take three times as long to hand over.
    """

    def __init__(self, workers: int, cores: frozenset[int] | None = None) -> None:
        """Begin `workers` threads, on some `cores` only, if given."""
        self._cores = cores
        self._tasks: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._lock = threading.RLock()  # garbage collection may close the run in the thread that holds it
        self._closed = False
        self._workers = 0
        self._too_many = 0  # threads that are to end once they have no task in hand
        self.resize(workers)

    @property
    def workers(self) -> int:
        """The number of threads that take tasks."""
        return self._workers

    def post(self, task: Callable[[], None]) -> bool:
        """Run `task()`, which raises nothing and has no result, in a thread; return whether any will take it."""
        if not self._closed:
            self._tasks.put(task)
        return not self._closed

    def resize(self, workers: int) -> None:
        """Continue with this many threads; surplus threads end after the task in hand."""
        with self._lock:
            if self._closed:
                return
            self._too_many += self._workers - workers
            for _ in range(self._too_many):
                self._tasks.put(None)  # wakes threads that wait for a task
            with only_on(self._cores if self._too_many < 0 else None):
                for _ in range(-self._too_many):
                    thread = worker_thread(self._work)
                    thread.start()
                    self._threads.append(thread)
            self._too_many = max(self._too_many, 0)
            self._workers = workers
            self._threads = [thread for thread in self._threads if thread.is_alive()]
            if self._closed:  # meanwhile, by garbage collection: wake the threads begun since then
                for _ in self._threads:
                    self._tasks.put(None)

    def shutdown(self) -> None:
        """Take no more tasks, and drop those that have not begun."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            with suppress(Empty):
                while True:
                    self._tasks.get_nowait()
            for _ in self._threads:  # also for threads that `resize` ended: their wake-up may have been dropped
                self._tasks.put(None)

    def _work(self) -> None:
        while True:
            task = self._tasks.get()
            if task is not None:
                task()
                del task  # hold nothing while waiting for the next
                if not self._too_many:
                    continue
            if self._leaves():
                return

    def _leaves(self) -> bool:
        with self._lock:
            self._too_many -= (fewer := self._too_many > 0)
            return fewer or self._closed


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

    def submit(
        self, job: Job, number: int, done: Callable[[Result], object], may_begin: Callable[[], bool] | None = None
    ) -> None:
        executor, task = self._executor, job.tasks[number]
        if isinstance(executor, Threads):
            if not executor.post(partial(self._make, task, done)):
                done(ClosedError(WHILE_WAITING))
            return
        try:
            future = submitted(executor, job, self._serve, executor, task)
        except BrokenExecutor as error:  # while earlier items were under way
            done(_died(job, error))
            return
        job.futures.append(future)

        def ended(future: Future[Any]) -> None:
            result = result_of(future, job)
            done(_died(job, result) if isinstance(result, BrokenExecutor) else result)

        future.add_done_callback(ended)

    def _serve(self, executor: Executor, task: Task) -> Made:
        with serving(executor):
            return self._work.make(task)

    def _make(self, task: Task, done: Callable[[Result], object]) -> None:
        try:
            result: Result = self._work.make(task)
        except QuotaExceeded as error:
            result = error.with_traceback(None)  # its frames hold the elements made, and refer to the job
        except BaseException as error:  # noqa: BLE001 - handed to the consumer, which raises it
            result = error
        done(result)

    def admit(self) -> None:
        """Do nothing: the jobs that the loop begins are few enough, since results are not copied."""


def submitted(executor: Executor, job: Job, function: Any, *args: Any, place: int | None = None) -> Future[Any]:
    """Return the task's future; if the executor takes no task, a failed future, so that earlier items come first.

    An executor that is `Placing` is told the `place` of the task, if any. One that is broken raises a `BrokenExecutor`.
    """
    name = type(executor).__name__
    try:
        submit: Any = executor.submit if place is None else partial(cast("Placing", executor).submit_near, place)
        given: Any = submit(function, *args)
        if callable(getattr(given, "add_done_callback", None)):
            return given
        refused = WorkerError(
            f"{name}.submit() returned {type(given).__name__} for the task of {items_of(job)}; it must return a "
            "concurrent.futures.Future"
        )
    except BrokenExecutor:
        raise
    except RuntimeError as error:
        refused = WorkerError(
            f"the {name} accepted no task for {items_of(job)}: {error}. "
            "Keep it open for as long as the iterator is in use"
        )
        refused.__cause__ = error
    except Exception as error:  # noqa: BLE001 - the consumer raises it in its turn
        refused = WorkerError(f"the {name} accepted no task for {items_of(job)}: {type(error).__name__}: {error}")
        refused.__cause__ = error
    return as_failed(refused)


def result_of(future: Future[Any], job: Job) -> Any:
    """Return the result of a future that is done, or its exception."""
    try:
        return future.result()
    except CancelledError as error:
        cancelled = WorkerError(f"the task of {items_of(job)} was canceled by its executor")
        cancelled.__cause__ = error
        return cancelled
    except BaseException as error:  # noqa: BLE001 - handed to the consumer, which raises it
        return error


def as_failed(error: Exception) -> Future[Any]:
    """Return a future that has failed with an error."""
    future: Future[Any] = Future()
    future.set_exception(error)
    return future


def items_of(job: Job) -> str:
    """Return the items of a job in words."""
    return f"items {job.task.low} to {job.task.high}"


def _died(job: Job, error: BrokenExecutor) -> WorkerError:
    died = WorkerError(
        f"the executor broke while {items_of(job)} were under way: {error}. The saved state still counts these items "
        "as not received: load state_dict() into an iterator with a new executor"
    )
    died.__cause__ = error
    return died

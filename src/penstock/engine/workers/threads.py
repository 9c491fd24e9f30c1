"""Worker threads that never keep the interpreter from ending."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Any, NamedTuple, ParamSpec, TypeVar

from penstock.engine.tasks.cores import only_on
from penstock.engine.workers.lifetime import worker_thread

P = ParamSpec("P")
T = TypeVar("T")


class Awaited(NamedTuple):
    """A call with a future for its result."""

    future: Future[Any]
    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    def __call__(self) -> None:
        if self.future.set_running_or_notify_cancel():
            try:
                result = self.function(*self.args, **self.kwargs)
            except BaseException as error:  # noqa: BLE001 - the future carries it to the caller
                self.future.set_exception(error)
            else:
                self.future.set_result(result)


class Threads(Executor):
    """A pool of daemon threads whose number can change while it runs.

    `concurrent.futures.ThreadPoolExecutor` joins its threads when the interpreter ends; a task asleep in a user's
    function would delay that. Here `shutdown(wait=False)` returns at once, and a thread ends after the task in hand.
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

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Run `fn(*args, **kwargs)` in one of the threads."""
        if self._closed:
            raise RuntimeError("the thread pool was shut down")
        future: Future[T] = Future()
        self._tasks.put(Awaited(future, fn, args, kwargs))
        return future

    def post(self, task: Callable[[], None]) -> bool:
        """Run `task()`, which raises nothing and has no result, in a thread; return whether the pool is still open.

        The cost is a third of that of `submit`.
        """
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

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more tasks; `cancel_futures` drops tasks not begun, `wait` waits for the threads to end."""
        with self._lock:
            if not self._closed:
                self._closed = True
                if cancel_futures:
                    self._cancel_waiting()
                for _ in self._threads:  # also for threads that `resize` ended: their wake-up may have been dropped
                    self._tasks.put(None)
        if wait:
            self.join()

    def join(self, timeout: float | None = None) -> None:
        """Wait for the threads to end, for `timeout` seconds at most."""
        deadline = None if timeout is None else monotonic() + timeout
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(None if deadline is None else max(deadline - monotonic(), 0))

    def _cancel_waiting(self) -> None:
        while True:
            try:
                task = self._tasks.get_nowait()
            except Empty:
                return
            if isinstance(task, Awaited):
                task.future.cancel()

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

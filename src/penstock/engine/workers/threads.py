"""Worker threads that never keep the interpreter from ending."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue

from penstock.engine.tasks.cores import only_on
from penstock.engine.workers.lifetime import worker_thread


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

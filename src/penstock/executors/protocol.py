"""The errors and methods by which an executor can do more than `concurrent.futures.Executor` asks."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Protocol, runtime_checkable


class LostWorkerError(RuntimeError):
    """The worker that made a task ended; the executor itself continues with another worker.

    A future that fails with this error has its task made again. With a `concurrent.futures.BrokenExecutor` instead,
    the whole executor counts as lost.

    >>> str(ps.executors.LostWorkerError("worker 17 of host a ended"))
    'worker 17 of host a ended'
    """


@runtime_checkable
class KeptOnce(Protocol):
    """An executor that can carry bytes to each of its hosts once, for any number of tasks.

    Without it, a plan of up to 64 KiB travels with each task. A larger one lies in a file of this host; workers of
    another host, which cannot open that file, receive the plan with each task.
    """

    def keep(self, data: bytes) -> Any:
        """Return an object that travels with a task in few bytes, and whose `load()` returns the bytes in a worker."""
        ...


@runtime_checkable
class Placing(Protocol):
    """An executor that sends tasks of the same place to the same host, where that costs no waiting.

    A place is a number for a stretch of remote data, equal in every epoch: the host keeps that data in its local cache.
    """

    def submit_near(self, place: int, fn: Callable[..., Any], /, *args: Any) -> Future[Any]:
        """Return the future of a call, as `submit` does, made on the host of the place or on another."""
        ...


@runtime_checkable
class Elastic(Protocol):
    """An executor that can ask for more hosts, and whose attribute `workers` is the number of concurrent tasks."""

    def scale(self, run: object, workers: int) -> None:
        """Receive the number of concurrent tasks that keep up with the consumer's step; 0 once the run is over."""
        ...


LOST_ABROAD = {
    ("distributed", "KilledWorker"),
    ("distributed", "FutureCancelledError"),
    ("distributed", "CommClosedError"),
}
"""Errors of other libraries' executors that tell of a lost worker: the top module and the name of the class."""


def is_lost_worker(error: BaseException) -> bool:
    """Return whether the future of a task failed because the worker that made it ended."""
    kind = type(error)
    return isinstance(error, LostWorkerError) or (kind.__module__.partition(".")[0], kind.__name__) in LOST_ABROAD

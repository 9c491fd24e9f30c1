"""Calls of an executor, and what their futures end with."""

from __future__ import annotations

from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from functools import partial
from typing import Any, cast

from penstock.core.errors import WorkerError
from penstock.engine.tasks.task import Job
from penstock.executors.protocol import Placing


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

"""Calls of an executor, and what their futures end with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeAlias, cast

from penstock.core.errors import WorkerError
from penstock.engine.tasks.task import Job, Result, Task
from penstock.engine.tasks.works import Work
from penstock.engine.transport.raised import Raised
from penstock.engine.workers.pickled import PickledPlan
from penstock.engine.workers.remote import Pickled
from penstock.engine.workers.suspects import Death, Suspect
from penstock.executors.protocol import Placing


class Sent(Protocol):
    """A task on its way to an executor: the call that makes it, and the memory that a worker may write into.

    `processes` are the workers that can, by their process ids, as the executor knows them from time to time.
    """

    @property
    def processes(self) -> Mapping[int, Any]: ...

    function: Callable[..., Any]
    args: tuple[Any, ...]

    def opened(self, answer: Any) -> tuple[Result, Any] | None:
        """Return the result in an answer and the counts of the observer; `None` if the task must be sent again."""
        ...


Packing: TypeAlias = Callable[[PickledPlan, Task, Executor], Sent]


@dataclass(eq=False)
class Call:
    """A task to be made elsewhere; `done` receives its result, `absorb` before that the counts of the observer there.

    `pack` makes the task ready to be sent, each time anew. Under a given budget a call waits until it `may_begin`.
    Once a worker has died while only this call was under way, `task` is one step after another of its `suspect`.
    """

    plan: PickledPlan
    work: Work
    job: Job
    task: Task
    done: Callable[[Result], None]
    absorb: Callable[[Any], None]
    pack: Packing = Pickled
    may_begin: Callable[[], bool] | None = None
    suspect: Suspect | None = None
    sent: Sent | None = None
    future: Future[Any] | None = None
    was_lost: bool = False

    def begin(self, executor: Executor) -> Future[Any]:
        """Send the task, and return its future; raise a `BrokenExecutor` if the executor is broken."""
        self.future = None
        try:
            self.sent = sent = self.pack(self.plan, self.task, executor)
        except Exception as error:  # noqa: BLE001 - of an element that cannot be pickled; the consumer raises it
            return _failed(error)
        place = self.work.place(self.task) if isinstance(executor, Placing) else None
        return submitted(executor, self.job, sent.function, *sent.args, place=place)

    def opened(self, answer: Any) -> tuple[Result, Any] | None:
        """Return the result in an answer and the counts of the observer; `None` if the task must be sent again."""
        sent, self.sent = self.sent, None
        if isinstance(answer, Raised):
            return answer.error(self.work.plan), answer.counted
        return (answer, None) if sent is None else sent.opened(answer)

    def ended(self, result: Result, counted: Any) -> bool:
        """Take the result of the task; return whether the call is over, rather than to be made again."""
        if self.suspect is not None:
            whole = self.suspect.lived(result)
            if whole is None:
                if self.suspect.keeps:
                    self.absorb(counted)
                self.task = self.suspect.task
                return False
            result = whole
        if counted is not None:
            self.absorb(counted)
        self.done(result)
        return True

    def lost(self, death: Death) -> Result | None:
        """Learn that a worker ended with this very task; as `died`, but the first loss says nothing of its elements."""
        if not self.was_lost:
            self.was_lost, self.sent = True, None
            return None
        return self.died(death)

    def died(self, death: Death) -> Result | None:
        """Learn how a worker died while it made this call alone; return a result, or `None` to make the task next."""
        if self.suspect is None:
            self.suspect = Suspect(self.work, self.task)
        elif (result := self.suspect.died(death)) is not None:
            return result
        self.task = self.suspect.task
        return None


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
    return _failed(refused)


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


def _failed(error: Exception) -> Future[Any]:
    future: Future[Any] = Future()
    future.set_exception(error)
    return future


def items_of(job: Job) -> str:
    """Return the items of a job in words."""
    return f"items {job.task.low} to {job.task.high}"

"""A task to be made by an executor that is handed in, however often it is sent."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from penstock.engine.tasks.task import Job, Result, Task
from penstock.engine.workers.executors import as_failed, submitted
from penstock.engine.workers.suspects import Death, Suspect
from penstock.executors.protocol import Placing
from penstock.transport.raised import Raised

if TYPE_CHECKING:
    from penstock.engine.workers.handed_in.pickled import PickledPlan
    from penstock.engine.workers.handed_in.workers import RemoteWorkers


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


Packing: TypeAlias = "Callable[[PickledPlan, Task, Executor], Sent]"
"""Makes a task ready to be sent, each time anew."""


@dataclass(eq=False)
class Call:
    """A task of some workers, to be made elsewhere; `done` receives its result.

    Under a given budget a call waits until it `may_begin`. Once a worker has died while only this call was under way,
    `task` is one step after another of its `suspect`.
    """

    workers: RemoteWorkers
    job: Job
    task: Task
    done: Callable[[Result], object]
    may_begin: Callable[[], bool] | None = None
    suspect: Suspect | None = None
    sent: Sent | None = None
    future: Future[Any] | None = None
    was_lost: bool = False

    def begin(self, executor: Executor) -> Future[Any]:
        """Send the task, and return its future; raise a `BrokenExecutor` if the executor is broken."""
        self.future = None
        try:
            self.sent = sent = self.workers.pack(self.workers.plan, self.task, executor)
        except Exception as error:  # noqa: BLE001 - of an element that cannot be pickled; the consumer raises it
            return as_failed(error)
        place = self.workers.place(self.task) if isinstance(executor, Placing) else None
        return submitted(executor, self.job, sent.function, *sent.args, place=place)

    def opened(self, answer: Any) -> tuple[Result, Any] | None:
        """Return the result in an answer and the counts of the observer; `None` if the task must be sent again."""
        sent, self.sent = self.sent, None
        if isinstance(answer, Raised):
            return answer.error(self.workers.work.plan), answer.counted
        return (answer, None) if sent is None else sent.opened(answer)

    def ended(self, result: Result, counted: Any) -> bool:
        """Take the result of the task; return whether the call is over, rather than to be made again."""
        if self.suspect is not None:
            whole = self.suspect.lived(result)
            if whole is None:
                if self.suspect.keeps:
                    self.workers.observer.absorb(counted)
                self.task = self.suspect.task
                return False
            result = whole
        if counted is not None:
            self.workers.observer.absorb(counted)
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
            self.suspect = Suspect(self.workers.work, self.task)
        elif (result := self.suspect.died(death)) is not None:
            return result
        self.task = self.suspect.task
        return None

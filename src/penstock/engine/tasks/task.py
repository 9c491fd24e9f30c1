"""Tasks, which are calls in one worker, and jobs, which are the tasks for some consecutive items."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

from penstock.core.arrays import Rows
from penstock.elements.chunks.chunk import Items
from penstock.elements.footprint import memory_of
from penstock.engine.tasks.cost import Cost, Took
from penstock.engine.tasks.slots import Slot
from penstock.plan.flow import Mark, Piece

if TYPE_CHECKING:
    from penstock.plan.trial import Terms


NOTHING = Items([])
"""The elements of a piece of rows, which are still to be made."""


class Cancelable(Protocol):
    """A task that workers were asked to make, such as a `concurrent.futures.Future`."""

    def cancel(self) -> bool:
        """Drop the task if it has not begun."""
        ...


class Task(NamedTuple):
    """The work to make items `low` to `high` of a stage from `given`: a piece of elements, or only of their rows.

    The result is written into `slot` if it fits. `part` is set if the task makes only these elements of a batch. The
    task first announces the rows `upcoming`, which later tasks read, to the source. `trial` is set if workers have
    ended with these items. Under a given budget a task of several items has a `quota` of bytes: it ends with
    `QuotaExceeded` if an operation makes more.
    """

    low: int
    high: int
    given: Piece
    slot: Slot | None = None
    upcoming: Rows | None = None
    part: tuple[int, int] | None = None
    trial: Terms | None = None
    quota: int | None = None


@dataclass(slots=True, eq=False)
class Made:
    """The result of a successful task, and the time that the task took.

    If it `spares` elements that end the process that makes them, the task must not be made again in this one.
    """

    piece: Piece
    took: Took
    spares: bool = False

    def __reduce__(self) -> tuple[Any, ...]:  # faster than by name of attribute
        return Made, (self.piece, self.took, self.spares)

    @property
    def cost(self) -> Cost:
        """The cost of the task, computed only on request: the worker's thread has other tasks to run."""
        wall, like = self.took
        return like.over(wall)


class Redone(Exception):  # noqa: N818 - a result, which is never raised
    """The items of a task that killed its workers, made again one by one: those made, and the failure of the next.

    `failure` is `None` if every item was made.
    """

    def __init__(self, made: list[Made], failure: BaseException | None) -> None:
        super().__init__("a task was made again one item after another")
        self.made = made
        self.failure = failure


Result: TypeAlias = Made | BaseException | Any
"""The result of a task, or the exception that ended it."""


def bytes_made(result: Result) -> int:
    """Return the bytes of the items of a result; 0 for those of an exception."""
    if isinstance(result, Made):
        return memory_of(result.piece.chunk)
    return sum(map(bytes_made, result.made)) if isinstance(result, Redone) else 0


class Job:
    """Consecutive items under way: the `task` of a feed, run as it is or cut into several.

    `results` has a place for each of `tasks`. `mark_after(k)` is the mark to continue from after the first `k` items.
    If the job `announces` the mark before its first item, the loop passes that mark on too.

    `nbytes` are those of the elements that the job was given, and of what it has made. If that is not `looked_at`, they
    are those expected, from the beginning on. What else the job may take until it is done is `reserved`.
    """

    __slots__ = (
        "announces",
        "failed",
        "futures",
        "items",
        "looked_at",
        "mark_after",
        "missing",
        "nbytes",
        "noted",
        "reserved",
        "results",
        "task",
        "tasks",
    )

    def __init__(self, task: Task, mark_after: Callable[[int], Mark], *, announces: bool = False) -> None:
        self.task = task
        self.items = len(task.given.ids)
        self.mark_after = mark_after
        self.announces = announces
        self.nbytes = self.reserved = 0
        self.looked_at = True
        self.noted = 0  # tasks, from the first on, whose cost the tuner knows
        self.failed = False
        self.futures: list[Cancelable] = []
        self.tasks = [task]
        self.results: list[Result | None] = [None]
        self.missing = 1

    def __len__(self) -> int:
        return self.items

    def set_tasks(self, tasks: list[Task]) -> None:
        """Replace the tasks, none of which has begun."""
        self.tasks = tasks
        self.results = [None] * len(tasks)
        self.missing = len(tasks)

    @property
    def is_whole(self) -> bool:
        """True if one task has made all items, without a failure; else parts have to be joined, or items replayed."""
        return not self.failed and len(self.tasks) == 1 and self.tasks[0].part is None

    def alone(self, item: int) -> Task:
        """Return the task that makes one item by itself."""
        task = self.task
        return Task(task.low + item, task.low + item + 1, task.given.slice(item, item + 1))

    def share(self, task: Task) -> float:
        """Return the number of items that a task makes; a fraction if several tasks make one item."""
        if task.part is None:
            return max(self.items, 1)
        return len(task.given) / sum(len(each.given) for each in self.tasks)

    def finish(self, number: int, result: Result) -> None:
        """Store the result of a task."""
        self.results[number] = result
        self.missing -= 1
        if not isinstance(result, Made):
            self.failed = True

    def failure(self) -> BaseException | None:
        """Return the exception of the first task that failed, if any."""
        return next((result for result in self.results if isinstance(result, BaseException)), None)

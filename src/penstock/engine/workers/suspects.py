"""Tasks with which worker processes ended: their items are made again one by one, each alone in a worker."""

from __future__ import annotations

import signal
from collections import Counter
from typing import Any, NamedTuple

from penstock.core.errors import WorkerDiedError
from penstock.engine.tasks.task import Made, Redone, Result, Task
from penstock.engine.tasks.works import RowWork
from penstock.ops.group.batching import batching_of
from penstock.plan.flow import Piece
from penstock.plan.graph import post_order
from penstock.plan.node import Node
from penstock.plan.trial import Spot, SpotFile, Terms
from penstock.transport.dumped_plan import Rebuildable

SUSPECT = 2  # workers that end with the same task, or by their own doing with the same element of it
OFTEN_KILLED = 8  # workers that others kill with the same task, before its elements are made apart
MOST_KILLED = 30  # workers killed in a row at one element: more than happens to an element that is not to blame
MOST_ROUNDS = 3  # times that the elements of a batch are made apart, and none of them ends a worker
BY_OTHERS = (signal.SIGKILL, signal.SIGTERM)  # signals that do not come from the code that a worker runs
OF_MEMORY = "; the system sends SIGKILL if memory runs out"
UNKNOWN_CODE = 255  # of a process of a fork server whose exit code somebody else has read
ADVICE = (
    'Leave the element out by on_error="skip" or ignore_errors(), or change the function so that it does not end its '
    "process"
)


class Death(NamedTuple):
    """The end of a worker: `how` in one line, and the last that it `wrote` to standard error.

    It is `by_others` if somebody else may have killed the worker, and `was_stuck` if its task took too long. A worker
    that had `begun` no task was still loading the plan.
    """

    how: str
    wrote: str = ""
    by_others: bool = False
    was_stuck: bool = False
    begun: bool = True

    @property
    def told(self) -> str:
        """The end with what the worker wrote."""
        return f"{self.how}; it wrote:\n{self.wrote}" if self.wrote else self.how


def told_code(code: int) -> str:
    """Return an exit code in words.

    >>> told_code(-9), told_code(3)
    ('SIGKILL', 'exit code 3')
    """
    try:
        return signal.Signals(-code).name if code < 0 else f"exit code {code}"
    except ValueError:
        return f"signal {-code}"


def is_own_end(code: int | None) -> bool:
    """Return whether a process ended by its own doing, as far as its exit code tells."""
    return code is not None and code != UNKNOWN_CODE and -code not in BY_OTHERS


class Suspect:
    """A task with which workers ended, made again in workers: its items one by one, or all of the part of a batch.

    `task` is to be made next. An element that ends two workers is handled by `on_error=` of the operation that was
    making it, or by the `ignore_errors()` above, as if it had raised a `WorkerDiedError`: tasks on trial say which
    operation that is. If there is none, the whole task fails, with the element's name: those of a batch are made apart
    to find it.

    A worker that others may have killed says nothing of the element that it was making. Only `MOST_KILLED` of them in a
    row at the same one, of which none got further, show that the element itself does it.
    """

    def __init__(self, work: Rebuildable, task: Task) -> None:
        self._work = work
        self._whole = task._replace(slot=None, upcoming=None, quota=None)
        self._elements = Elements(work, self._whole)
        self._at = 0
        self._made: list[Made] = []
        self._file = SpotFile()
        self._deadly: dict[Spot, str] = {}
        self._deaths: Counter[Spot | int] = Counter()  # at spots, or with the element that is made
        self._killed: list[Spot | int] = []  # where workers were killed by others, in a row at the same element
        self._inside: Elements | None = None  # the elements of the batch that ended two workers
        self._at_inside = self._rounds = 0
        self.keeps = False
        """True if the last result that lived is a part of that of the whole."""

    @property
    def task(self) -> Task:
        """The task to make now."""
        self._file.clear()
        trial = Terms(self._file.path, self._file.name, dict(self._deadly))
        if self._inside is not None:
            return self._inside.task(self._at_inside)._replace(trial=trial)
        is_last = self._at == len(self._elements)  # of a part, which is made once it is known what to spare
        return (self._whole if is_last else self._elements.task(self._at))._replace(trial=trial)

    def lived(self, result: Result) -> Result | None:
        """Take the result of the task; return that of the whole, or `None` if there is more to make."""
        is_part, is_last = self._whole.part is not None, self._at == len(self._elements)
        self.keeps = self._inside is None and (is_last or not is_part)
        self._killed.clear()
        if self._inside is not None:  # whether it failed does not matter: its batch is made again
            self._at_inside += 1
            if self._at_inside == len(self._inside):
                self._inside = None
            return None
        self._deaths.clear()
        self._rounds = 0
        if not isinstance(result, Made):
            return result if is_part else Redone(self._made, result)
        if is_last:
            result.spares = bool(self._deadly)
            return result
        self._made.append(result)
        self._at += 1
        if is_part:
            self._made.clear()
        elif self._at == len(self._elements):
            return Redone(self._made, None)
        return None

    @property
    def seconds(self) -> float | None:
        """The time that the task has been making one element; `None` if it does not say which one."""
        return self._file.seconds()

    @property
    def pid(self) -> int | None:
        """The process that began the task; `None` if it has not told."""
        return self._file.pid

    def died(self, death: Death) -> Result | None:
        """Learn how a worker ended with the task; return the result of the whole, `None` if there is more to make."""
        spot = self._file.spot
        at: Spot | int = spot or (self._at if self._inside is None else ~self._at_inside)
        is_guilty = self._is_guilty(at, death)
        if spot is not None:
            if is_guilty:
                self._deadly[spot] = f"{self._told(spot)} ended each worker that made it: {self._words(death)}"
                self._inside = None
            return None
        if self._inside is not None:
            return self._failed(self._inside, self._at_inside, death) if is_guilty else None
        if self._at < len(self._elements) and self._rounds < MOST_ROUNDS:
            self._inside, self._at_inside = self._elements.within(self._at), 0
        if self._inside is None:
            return self._failed(self._elements, self._at, death) if is_guilty else None
        self._rounds += 1
        self._deaths.clear()
        return None

    def _is_guilty(self, at: Spot | int, death: Death) -> bool:
        """Count a death at an element; return whether the element is to blame."""
        if not death.by_others:
            self._deaths[at] += 1
            return self._deaths[at] >= SUSPECT
        if self._killed[-1:] != [at]:
            self._killed.clear()
        self._killed.append(at)
        return len(self._killed) >= MOST_KILLED

    def _words(self, death: Death) -> str:
        if not death.by_others:
            return death.told
        killed = f"{len(self._killed)} workers in a row were killed by signals while they made it"
        return f"{death.told}\n{killed}{OF_MEMORY if 'SIGKILL' in death.how else ''}"

    def _failed(self, elements: Elements, at: int, death: Death) -> Result:
        if at == len(elements):
            told, row = f"a part of batch {self._whole.low}", None
        else:
            told, row = elements.name(at), elements.row(at)
        failure = WorkerDiedError(f"{told} ends the worker that makes it: {self._words(death)}\n{ADVICE}", row=row)
        return failure if self._whole.part is not None else Redone(self._made, failure)

    def _told(self, spot: Spot) -> str:
        node = list(post_order(self._work.plan))[spot.node]
        return f"an element of {node.label()}"


class Elements:
    """The elements of a task, which can be made apart: its items, or elements of a batch if it makes a part of one."""

    def __init__(self, work: Rebuildable, task: Task) -> None:
        self._work = work
        self._task = task

    def __len__(self) -> int:
        return len(self._task.given)

    def task(self, at: int) -> Task:
        """Return the task that makes element `at`."""
        task, given = self._task, self._task.given
        if task.part is None:
            return task._replace(low=task.low + at, high=task.low + at + 1, given=given.slice(at, at + 1))
        begin = task.part[0] + at
        return task._replace(given=Piece(given.chunk, given.ids[at : at + 1]), part=(begin, begin + 1))

    def within(self, at: int) -> Elements | None:
        """Return the elements of batch `at`, if it is one whose elements can be made apart."""
        parts: Any = self._work.parts if self._task.part is None and isinstance(self._work, RowWork) else None
        if parts is None:
            return None
        batch = self.task(at)
        rows = parts.rows(batch)
        return Elements(self._work, parts.cut(batch, rows, 0, len(rows))[0]) if len(rows) > 1 else None

    def row(self, at: int) -> int:
        """Return the global number of element `at`."""
        return int(self._task.given.ids[at])

    def name(self, at: int) -> str:
        """Return element `at` in words."""
        node, row = self._node(), self.row(at)
        unit = "row" if self._task.part is not None or batching_of(node) is None else "batch"
        called = f", given to {' and '.join(above)}," if (above := self._called_above(node)) else ""
        if not node.indexed or not node.stride:
            return f"element {row} of {node.label()}{called}"
        epoch, row = divmod(row, node.stride)
        return f"{unit} {row}{f' of epoch {epoch}' if epoch else ''} of {node.label()}{called}"

    def _called_above(self, node: Node) -> list[str]:
        """Return the operations of the work above a node that call functions."""
        found: list[str] = []
        each = self._work.plan
        while self._task.part is None and each is not node and each.inputs:
            found += [each.label()] if each.functions else []
            each = each.inputs[0]
        return found[::-1]

    def _node(self) -> Node:
        """Return the node whose rows the elements are."""
        work, node = self._work, self._work.plan
        if self._task.part is not None and isinstance(work, RowWork) and work.parts is not None:
            return work.parts.batch.input
        while not node.indexed and node.elementwise and node.inputs:
            node = node.inputs[0]
        return node

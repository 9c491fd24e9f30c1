"""The search for the element that ends worker processes: by halves, each made by a worker of its own."""

from __future__ import annotations

from typing import Any

from penstock.core.errors import WorkerDiedError
from penstock.engine.memory.arena import Arena
from penstock.engine.processes.ticket import Ticket
from penstock.engine.tasks.task import Task
from penstock.engine.tasks.works import Work
from penstock.ops.group.batching import batching_of
from penstock.plan.flow import Piece
from penstock.plan.node import Node

SUSPECT = 2  # workers that end with the same task, from which on its elements are made apart
MOST_ROUNDS = 3  # searches that find no element by itself
ADVICE = "Leave it out, or change the function so that it does not end its process"


def suspected(ticket: Ticket, how: str, arena: Arena | None) -> list[Ticket]:
    """Return the tickets to make next after a worker ended with this one; finish it if its guilt is proven.

    A task is made again once, since the worker may have ended for another reason. If a second worker ends with it, its
    elements are made apart, until one of them has ended two workers alone.
    """
    if isinstance(ticket, Probe):
        return ticket.search.died(how)
    ticket.deaths += 1
    task = ticket.task
    what = f"items {task.low} to {task.high}" if task.part is None else f"a part of item {task.low}"
    if ticket.deaths < SUSPECT:
        ticket.client.note(task, f"{how}; it was making {what}, which another worker makes again")
        return [ticket]
    ticket.client.note(task, f"{how}; the second worker to end while making {what}, whose elements are now made apart")
    if ticket.rounds == MOST_ROUNDS:
        ticket.finish(WorkerDiedError(f"{ticket.deaths} worker processes ended while making {what}: {how}"))
        return []
    ticket.rounds += 1
    return Search(ticket, arena).next()


class Search:
    """A search among the elements of a ticket for one that ends workers."""

    def __init__(self, ticket: Ticket, arena: Arena | None) -> None:
        self._ticket = ticket
        self._arena = arena
        self._elements = Elements(ticket.client.plan.work, ticket.task)
        self._low, self._high = 0, len(self._elements)
        self._item = 0  # of the task, that the elements belong to if they are those of one batch
        self._deaths = 0  # with the last element left

    def next(self) -> list[Ticket]:
        """Return the ticket to make next: half of the elements that are left."""
        if self._ticket.dropped:
            return []
        return [Probe(self, self._ticket, self._elements.task(self._low, self._middle), self._arena)]

    @property
    def _middle(self) -> int:
        return self._low + max((self._high - self._low) // 2, 1)

    def died(self, how: str) -> list[Ticket]:
        """Continue among the elements with which another worker has ended."""
        was_one = self._high - self._low == 1
        self._high = self._middle
        if was_one and (inside := self._elements.within(self._low)) is not None:
            self._item, self._elements = self._low, inside
            self._low, self._high = 0, len(inside)
        elif was_one:
            self._deaths += 1
        if self._deaths < SUSPECT:
            return self.next()
        at, elements = self._low, self._elements
        message = f"{elements.name(at)} ends the worker that makes it: {how}\n{ADVICE}"
        self._ticket.finish(WorkerDiedError(message, row=elements.row(at), item=self._item or elements.item(at)))
        return []

    def lived(self) -> list[Ticket]:
        """Continue among the others after a worker made its elements; with the whole task, if none is left."""
        if self._middle < self._high:
            self._low = self._middle
            return self.next()
        self._ticket.deaths = SUSPECT - 1
        return [self._ticket]


class Probe(Ticket):
    """Some elements of a suspect ticket, made only to see whether the worker survives."""

    def __init__(self, search: Search, of: Ticket, task: Task, arena: Arena | None) -> None:
        super().__init__(of.client, task, arena, 0, lambda result, counted: None)
        self.search = search

    def answer(self, kind: str, result: Any, counted: Any, tail: bytearray) -> list[Ticket]:
        """Return the tickets to make next, now that the worker has survived."""
        return self.search.lived()


class Elements:
    """The elements of a task, which can be made apart: its items, or elements of a batch if it makes a part of one."""

    def __init__(self, work: Work, task: Task) -> None:
        self._work = work
        self._task = task._replace(slot=None, upcoming=None)

    def __len__(self) -> int:
        return len(self._task.given)

    def task(self, low: int, high: int) -> Task:
        """Return the task that makes elements `low` to `high`."""
        task, given = self._task, self._task.given
        if task.part is None:
            return task._replace(low=task.low + low, high=task.low + high, given=given.slice(low, high))
        begin = task.part[0]
        return task._replace(given=Piece(given.chunk, given.ids[low:high]), part=(begin + low, begin + high))

    def within(self, at: int) -> Elements | None:
        """Return the elements of batch `at`, if it is one whose elements can be made apart."""
        work = self._work
        if self._task.part is not None or work.parts is None:
            return None
        batch = self.task(at, at + 1)
        rows = work.parts.rows(batch)
        return Elements(work, work.parts.cut(batch, rows, 0, len(rows))[0]) if len(rows) > 1 else None

    def item(self, at: int) -> int:
        """Return the number of the item in the job that element `at` belongs to."""
        return at if self._task.part is None else 0

    def row(self, at: int) -> int:
        """Return the global number of element `at`."""
        return int(self._task.given.ids[at])

    def name(self, at: int) -> str:
        """Return element `at` in words."""
        node, row = self._node(), self.row(at)
        unit = "row" if self._task.part is not None or batching_of(node) is None else "batch"
        if not node.indexed or not node.stride:
            return f"element {row} of {node.label()}"
        epoch, row = divmod(row, node.stride)
        return f"{unit} {row}{f' of epoch {epoch}' if epoch else ''} of {node.label()}"

    def _node(self) -> Node:
        """Return the node whose rows the elements are."""
        work, node = self._work, self._work.plan
        if self._task.part is not None and work.parts is not None:
            return work.parts.batch.input
        while not node.indexed and node.elementwise and node.inputs:
            node = node.inputs[0]
        return node

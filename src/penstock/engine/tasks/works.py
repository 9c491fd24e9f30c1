"""The two kinds of work of a task: make rows of an indexed plan, with batches in slots, or make a piece of a stream."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from penstock.core.arrays import Allocate
from penstock.elements.chunks.chunk import Chunk, Fresh
from penstock.engine import tasks
from penstock.engine.memory.slots import Slot, moved_into
from penstock.engine.tasks.compile import compiled, spreading
from penstock.engine.tasks.cost import Meter
from penstock.engine.tasks.observer import Observer
from penstock.engine.tasks.read_ahead import Tell, telling
from penstock.engine.tasks.task import Made, Task
from penstock.ops.group.unit import batching_of
from penstock.plan.flow import Piece
from penstock.plan.node import Node

if TYPE_CHECKING:
    from penstock.engine.tasks.parts import Parts


class Rebuildable(Protocol):
    """An object that another process makes again from its plan, whose operations are `numbered_from` that number."""

    @property
    def plan(self) -> Node: ...
    @property
    def numbered_from(self) -> int: ...


class Work(Protocol):
    """Work of one kind, which makes tasks in any thread; another process can rebuild the work from the plan.

    The observer knows the operations of the plan by their numbers, from `numbered_from` on.
    """

    plan: Node
    numbered_from: int
    tell: Tell | None

    def __init__(self, plan: Node, allocate: Allocate, observer: Observer, numbered_from: int = 0) -> None: ...
    def make(self, task: Task) -> Made: ...


class RowWork:
    """Work that makes rows of an indexed plan, with batches written into the slot of a task, if any.

    If it `fills_slots`, leaves that were made elsewhere are copied into the slot, because the caller has given its
    memory and would have to copy the batch. Otherwise memory elsewhere is as good as the slot.
    """

    def __init__(
        self,
        plan: Node,
        allocate: Allocate,
        observer: Observer,
        numbered_from: int = 0,
        *,
        fills_slots: bool = False,
    ) -> None:
        self.plan = plan
        self.numbered_from = numbered_from
        self.fills_slots = fills_slots
        self.tell = telling(plan)
        self._allocate = allocate
        self._observer = observer
        self._program = compiled(plan, allocate, observer, numbered_from)
        self._makes_batches = batching_of(plan) is not None
        self._meter = Meter()

    def make(self, task: Task) -> Made:
        """Make the items of a task, or the part of a batch that it asks for."""
        return Made(*self._meter.measure(self._made, task))

    def _made(self, task: Task) -> Piece:
        if task.upcoming is not None and self.tell is not None:
            self.tell(task.upcoming)
        rows = task.given.ids
        if task.part is not None and self.parts is not None:
            return Piece(self.parts.made(task), rows)
        chunk = self.placed(self._program(rows, task.slot), task.slot)
        if not self._makes_batches:
            return Piece(Fresh(chunk.elements()), rows)
        return Piece(chunk, rows)

    def placed(self, chunk: Chunk, slot: Slot | None) -> Chunk:
        """Return batches, in their places in the slot if the work fills slots and they fit."""
        return chunk if slot is None or not self.fills_slots else moved_into(chunk, slot)

    @cached_property
    def parts(self) -> Parts | None:
        """The way to make a batch in parts, if the plan ends in a batch that allows it."""
        return tasks.parts.batch_parts(self.plan, self._allocate, self._observer, self.numbered_from)


class PieceWork:
    """Work that makes pieces of a stretch of elementwise nodes from rows of an indexed node or from given elements."""

    def __init__(self, plan: Node, allocate: Allocate, observer: Observer, numbered_from: int = 0) -> None:
        self.plan = plan
        self.numbered_from = numbered_from
        self.tell = telling(plan)
        self._spread = spreading(plan, allocate, observer, numbered_from)
        self._meter = Meter()

    def make(self, task: Task) -> Made:
        """Make the elements from the input of a task."""
        return Made(*self._meter.measure(self._made, task))

    def _made(self, task: Task) -> Piece:
        if task.upcoming is not None and self.tell is not None:
            self.tell(task.upcoming)
        return self._spread(task.given)

"""The work of a task: make items of an indexed plan, with batches in slots, or elements of a stretch of a stream."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, cast

from penstock.core.arrays import Allocate
from penstock.core.cached import cached_property
from penstock.elements.chunks.chunk import Chunk, Fresh
from penstock.engine import tasks
from penstock.engine.tasks.compile import compiled, spreading
from penstock.engine.tasks.cost import Meter
from penstock.engine.tasks.observer import Observer
from penstock.engine.tasks.read_ahead import telling
from penstock.engine.tasks.slots import Slot, moved_into
from penstock.engine.tasks.task import Job, Made, Result, Task
from penstock.ops.group.batching import batching_of
from penstock.plan.flow import Piece
from penstock.plan.graph import all_nodes
from penstock.plan.node import Node
from penstock.plan.quota import of_thread, under_quota

if TYPE_CHECKING:
    from penstock.core.budget import Budget
    from penstock.engine.tasks.parts import Parts
    from penstock.ops.buffer.cache import Cache


def bound_caches(plan: Node, budget: Budget) -> None:
    """Let the caches of a plan keep as many bytes as a budget allows."""
    for node in all_nodes(plan):
        if node.traits.keeps_made:
            cast("Cache", node).obey(budget)


class Work(ABC):
    """Work that makes tasks in any thread; another process rebuilds it from its class, the plan and the numbers.

    The observer knows the operations of the plan by their numbers, from `numbered_from` on. A subclass makes the items.
    """

    def __init__(self, plan: Node, allocate: Allocate, observer: Observer, numbered_from: int = 0) -> None:
        self.plan = plan
        self.numbered_from = numbered_from
        self.tell = telling(plan)
        self._allocate = allocate
        self._observer = observer
        self.meter = Meter(observer.recorder)
        """The meter of its tasks; works of one kind may share one, so that few tasks are measured in full."""

    def make(self, task: Task) -> Made:
        """Make the items of a task, or the part of a batch that it asks for."""
        items = self._items if task.upcoming is None else self._items_after_telling
        if task.quota is None and of_thread.nbytes is None:
            piece, took, began = self.meter.measure(items, task)
        else:
            with under_quota(task.quota):
                piece, took, began = self.meter.measure(items, task)
        recorder = self.meter.recorder
        if recorder is not None and (recorder.room > 0 or took[0] >= recorder.long):
            recorder.note(task, self._label, began, took[0])
        return Made(piece, took)

    @cached_property
    def _label(self) -> str:
        return self.plan.label()

    def tried(self, task: Task) -> Result:
        """Make a task in the consumer's thread; return an exception, which the loop raises in its turn."""
        try:
            return self.make(task)
        except Exception as error:  # noqa: BLE001 - raised after everything before it
            return error

    def _items_after_telling(self, task: Task) -> Piece:
        if task.upcoming is not None and self.tell is not None:
            self.tell(task.upcoming)
        return self._items(task)

    @abstractmethod
    def _items(self, task: Task) -> Piece: ...

    @cached_property
    def parts(self) -> Parts | None:
        """The way to make a batch in parts, if the plan ends in a batch that allows it."""
        return None

    def joined(self, job: Job) -> Piece | None:
        """Return the items of a job that did not fail; `None` without a result, or if parts do not fit together."""
        if job.tasks[0].part is not None:
            return self._joined_parts(job)
        result = job.results[0]
        return result.piece if isinstance(result, Made) else None

    def _joined_parts(self, job: Job) -> Piece | None:
        return None


class RowWork(Work):
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
        super().__init__(plan, allocate, observer, numbered_from)
        self.fills_slots = fills_slots
        self._program = compiled(plan, allocate, observer, numbered_from)
        self._makes_batches = batching_of(plan) is not None

    def _items(self, task: Task) -> Piece:
        rows = task.given.ids
        if task.part is not None and self.parts is not None:
            return Piece(self.parts.made(task), rows)
        chunk = self._program(rows, task.slot)
        if self.fills_slots:
            chunk = self._placed(chunk, task.slot)
        return Piece(chunk if self._makes_batches else Fresh(chunk.elements()), rows)

    def _joined_parts(self, job: Job) -> Piece | None:
        chunk = None if self.parts is None else self.parts.joined(job)
        return None if chunk is None else Piece(self._placed(chunk, job.tasks[0].slot), job.task.given.ids)

    def _placed(self, chunk: Chunk, slot: Slot | None) -> Chunk:
        """Return batches, in their places in the slot if the work fills slots and they fit."""
        return chunk if slot is None or not self.fills_slots else moved_into(chunk, slot)

    @cached_property
    def parts(self) -> Parts | None:
        return tasks.parts.batch_parts(self.plan, self._allocate, self._observer, self.numbered_from)


class PieceWork(Work):
    """Work that makes pieces of a stretch of elementwise nodes from rows of an indexed node or from given elements."""

    def __init__(self, plan: Node, allocate: Allocate, observer: Observer, numbered_from: int = 0) -> None:
        super().__init__(plan, allocate, observer, numbered_from)
        self._spread = spreading(plan, allocate, observer, numbered_from)

    def _items(self, task: Task) -> Piece:
        return self._spread(task.given)

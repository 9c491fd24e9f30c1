"""An expensive batch made by several tasks, each of which writes some of its elements into the slot."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, cast

import numpy as np

from penstock.core.arrays import Allocate, Rows
from penstock.core.frozen import frozen
from penstock.elements.chunks.chunk import Chunk, Columns
from penstock.elements.chunks.stacking import Stack, join_stacks
from penstock.elements.chunks.to_arrays import stack_all
from penstock.elements.sparse import Sparse
from penstock.engine.tasks.compile import compiled
from penstock.engine.tasks.observer import Observer, Occurrence
from penstock.engine.tasks.slots import Slot
from penstock.engine.tasks.task import Job, Made, Task
from penstock.ops.group.batch import Batch
from penstock.plan.flow import Piece
from penstock.plan.graph import end_of, post_order, rows_through
from penstock.plan.node import Node, RowMap
from penstock.plan.step import Step
from penstock.plan.types import Program


@frozen(eq=False)
class Parts:
    """The way to cut a batch into tasks for some of its elements each, to make the parts, and to join them."""

    moves: list[RowMap]  # of batches
    batch: Batch
    allocate: Allocate
    program: Program  # of the elements
    steps: tuple[Step, ...]  # that batch the elements and transfer the batch

    def rows(self, task: Task) -> Rows:
        """Return the rows of the batch's input that a task reads for its batch."""
        return self.batch.grouped(rows_through(task.given.ids, self.moves))[0]

    def cut(self, task: Task, rows: Rows, low: int, high: int, count: int = 1) -> list[Task]:
        """Return up to `count` tasks that make the elements `low` to `high` of the batch that `task` would make."""
        cuts = np.linspace(low, high, min(count, high - low) + 1).astype(int).tolist()
        return [
            task._replace(
                given=Piece(task.given.chunk, rows[begin:end]),
                upcoming=task.upcoming if begin == 0 else None,
                part=(begin, end),
            )
            for begin, end in pairwise(cuts)
        ]

    def made(self, task: Task) -> Columns:
        """Make the elements of a part, stacked in the slot if they fit."""
        rows, out, allocate = task.given.ids, self._memory(task), self.allocate
        structure, arrays = stack_all(self.program(rows, out), rows, out=out, allocate=allocate)
        return Columns(structure, [*arrays], len(rows))

    def joined(self, job: Job) -> Chunk | None:
        """Return the batch of a job from its finished parts; `None` if the parts do not fit together."""
        parts: list[Any] = [result.piece.chunk for result in job.results if isinstance(result, Made)]
        if not all(_fit(parts[0], other) for other in parts[1:]):
            return None
        count = sum(map(len, parts))
        places = [self._memory(task) for task in job.tasks]
        whole = None if job.tasks[0].slot is None else self.batch.memory_of_elements(job.tasks[0].slot, 1, count)
        arrays: list[Any] = []
        for leaf, columns in enumerate(zip(*(part.columns for part in parts), strict=True)):
            if whole is not None and all(_is_at(leaf, *each) for each in zip(columns, places, strict=True)):
                arrays.append(whole[leaf])
            else:
                arrays.append(join_stacks(columns, self.allocate))
        batch: Chunk = Columns(parts[0].structure, arrays, count)
        ids = job.task.given.ids
        for step in self.steps:
            if step.change is not None:
                batch = step.change(batch, ids, ids, arrays)
        return batch

    def _memory(self, task: Task) -> Slot | None:
        """Return the part of the slot that a task writes: an array of shape (k, ...) for each leaf."""
        if task.slot is None or task.part is None:
            return None
        low, high = task.part
        memory = self.batch.memory_of_elements(task.slot, 1, high)
        return None if memory is None else [array[low:high] for array in memory]


def batch_parts(plan: Node, allocate: Allocate, observer: Observer, numbered_from: int = 0) -> Parts | None:
    """Return the way to make a batch of the plan in parts; `None` unless the plan ends in a `Batch`, perhaps moved."""
    moves, batch = end_of(plan)
    if type(batch) is not Batch:
        return None

    def change(chunk: Chunk, rows: Rows, below: Rows, out: Any) -> Chunk:
        return batch.folded(cast("Columns", chunk).structure, out, len(chunk), 1, allocate)

    program = compiled(batch.input, allocate, observer, numbered_from)
    steps: list[Step] = []
    for number, node in enumerate([batch, *reversed(moves)], numbered_from + sum(1 for _ in post_order(batch.input))):
        step = Step(change=change) if node is batch else Step()
        steps.append(observer.wrap(Occurrence(number, node, "step", (number - 1,)), step))
    return Parts(moves, batch, allocate, program, tuple(steps))


def _is_at(leaf: int, array: Stack, places: Slot | None) -> bool:
    """Return whether the array of a leaf is in its place, if the leaves have places."""
    if places is None or leaf >= len(places) or not isinstance(array, np.ndarray):
        return False
    place = places[leaf]
    return array.shape == place.shape and array.ctypes.data == place.ctypes.data


def _fit(one: Any, other: Any) -> bool:
    """Return whether the stacked elements of two parts can be joined."""
    return one.structure == other.structure and all(
        type(left) is type(right)
        and left.dtype == right.dtype
        and (left.shape[1:] == right.shape[1:] or (isinstance(left, Sparse) and left.ndim == right.ndim))
        for left, right in zip(one.columns, other.columns, strict=True)
    )

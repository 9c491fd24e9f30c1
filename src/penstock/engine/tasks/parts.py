"""An expensive batch made by several tasks, each of which writes some of its elements into the slot."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from penstock.core.arrays import Allocate, Rows
from penstock.elements.chunks.chunk import Chunk, Columns
from penstock.elements.chunks.gathering import stack_all
from penstock.elements.chunks.stacking import Stack, joined
from penstock.elements.sparse import Sparse
from penstock.engine.tasks.compile import compiled
from penstock.engine.tasks.observer import Observer
from penstock.engine.tasks.task import Job, Made, Slot, Task
from penstock.ops.group.batch import Batch
from penstock.plan.flow import Piece
from penstock.plan.node import Node, Passing
from penstock.plan.types import Program


@dataclass(frozen=True, eq=False)
class Parts:
    """Cuts a batch into tasks for some of its elements each, makes them, and joins them."""

    plan: Node
    batch: Batch
    allocate: Allocate
    observer: Observer

    def rows(self, task: Task) -> Rows:
        """Return the rows of the batch's input that the batch of a task is made of."""
        rows, node = task.given.ids, self.plan
        while isinstance(node, Passing):
            rows, node = node.rows_of(rows), node.input
        return self.batch.grouped(rows)[0]

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
        """Make the elements of a part, stacked: in the slot, where they fit."""
        return self._program(task.given.ids, self._memory(task))

    def joined(self, job: Job) -> Chunk | None:
        """Return the batch of a job whose parts are all made; `None` if they do not fit together."""
        chunks: list[Any] = [result.piece.chunk for result in job.results if isinstance(result, Made)]
        if self._are_in_place(job, chunks):
            below: Any = self.batch.below(job.tasks[0].slot)
            arrays: list[Stack] = [array[0][: sum(map(len, chunks))] for array in below]
        elif all(_fit(chunks[0], other) for other in chunks[1:]):
            arrays = [joined(parts, self.allocate) for parts in zip(*(c.columns for c in chunks), strict=True)]
        else:
            return None
        return self.batch.folded(chunks[0].structure, arrays, len(arrays[0]), 1, self.allocate)

    def _memory(self, task: Task) -> Slot | None:
        """Return the part of the slot that a task writes, with flags left out: an array of shape (k, ...) a leaf."""
        if task.slot is None or task.part is None:
            return None
        low, high = task.part
        below = self.batch.below(task.slot)
        return None if below is None else [array[0][low:high] if array.ndim > 1 else array for array in below]

    def _are_in_place(self, job: Job, chunks: list[Any]) -> bool:
        for chunk, task in zip(chunks, job.tasks, strict=True):
            memory = self._memory(task)
            if memory is None or len(memory) != len(chunk.columns) or not all(map(_is_there, chunk.columns, memory)):
                return False
        return True

    @cached_property
    def _program(self) -> Program:
        source, allocate = compiled(self.batch.input, self.allocate, self.observer), self.allocate

        def stacked(rows: Rows, out: Slot | None = None) -> Columns:
            structure, arrays = stack_all(source(rows, out), rows, out=out, allocate=allocate)
            return Columns(structure, [*arrays], len(rows))

        return stacked


def parts_of(plan: Node, allocate: Allocate, observer: Observer) -> Parts | None:
    """Return the way to make a batch of the plan in parts; `None` where it does not end in a `Batch`, moved perhaps."""
    node = plan
    while isinstance(node, Passing):
        node = node.input
    return Parts(plan, node, allocate, observer) if type(node) is Batch else None


def _is_there(array: Stack, memory: np.ndarray) -> bool:
    return isinstance(array, np.ndarray) and array.shape == memory.shape and array.ctypes.data == memory.ctypes.data


def _fit(one: Any, other: Any) -> bool:
    """Return whether the stacked elements of two parts can be joined."""
    return one.structure == other.structure and all(
        type(left) is type(right)
        and left.dtype == right.dtype
        and (left.shape[1:] == right.shape[1:] or (isinstance(left, Sparse) and left.ndim == right.ndim))
        for left, right in zip(one.columns, other.columns, strict=True)
    )

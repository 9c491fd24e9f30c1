"""Batches of plain rows of arrays in memory, gathered by a native thread that never takes the GIL."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.core.arrays import Rows
from penstock.core.cached import cached_property
from penstock.elements.chunks.chunk import Items
from penstock.elements.nested.structure import joining
from penstock.engine.memory.pool import Memory
from penstock.engine.tasks.cores import side_thread
from penstock.engine.tasks.cost import Cost
from penstock.engine.tasks.observer import count_nothing
from penstock.engine.tasks.task import Task
from penstock.index.epochs import positions
from penstock.kernels import Ahead, SideThread
from penstock.ops.group.batch import Batch
from penstock.plan.graph import end_of, post_order, rows_through
from penstock.plan.node import Node
from penstock.sources.powers import GathersNatively

PROBED = 8  # rows


class Gathered(Items):
    """A queue of batches that a native thread is making; the consumer takes them out one after another."""

    __slots__ = ("batch_bytes", "batch_rows", "queue", "size")

    def __init__(self, queue: Ahead, batch_rows: int, batch_bytes: int) -> None:
        super().__init__([])
        self.queue = queue
        self.size = len(queue)
        self.batch_rows = batch_rows
        self.batch_bytes = batch_bytes

    def __len__(self) -> int:
        return self.size

    def elements(self) -> Any:
        """Return the queue."""
        return self.queue

    def taken(self) -> tuple[int, Cost]:
        """Return the number of batches taken, and the time spent on the batches made so far."""
        return self.size - len(self.queue), Cost(*self.queue.took())


class Gathering:
    """A native thread that gathers the batches of tasks, each in its own memory."""

    def __init__(
        self,
        plan: Node,
        batch: Batch,
        source: GathersNatively,
        read: Node,
        memory: Memory,
        cores: frozenset[int] | None,
    ) -> None:
        """Gather the rows of `source`, the elements of `read`."""
        self._plan = plan
        self._batch = batch
        self._moves, self._moves_below = end_of(plan)[0], end_of(batch.input)[0]  # of batches, and of elements
        self._source = source
        self._read = read
        self._memory = memory
        self._cores = cores
        self.is_possible = True  # until rows turn out to be consecutive
        self.count = count_nothing
        """The function that counts the batches that were taken."""

    def jumps(self) -> bool:
        """Return whether the first rows of the plan do not all follow one another."""
        ids = np.arange(min(PROBED, self._plan.stride))
        its_rows, _ = self._batch.grouped(rows_through(ids, self._moves))
        return bool((np.diff(self._positions(its_rows[:PROBED])) != 1).any())

    def begin(self, task: Task, item_bytes: int) -> Gathered | None:
        """Begin the batches of a task; return `None` if their rows are consecutive or differ in number."""
        batch = self._batch
        its_rows, counts = batch.grouped(rows_through(task.given.ids, self._moves))
        size = int(counts[0])
        if (counts != size).any():
            return None
        join, allocate = joining(self._source.structure), self._memory.allocate

        def whole(arrays: Any) -> Any:
            return batch.completed(join(arrays), size, batch.size, allocate)

        made = self._source.begin_reading(
            self._positions(its_rows), size, whole if batch.pads else join, self._memory.pool, self._side
        )
        self.is_possible = made is not None
        return None if made is None else Gathered(made, size, item_bytes * size // batch.size)

    def _positions(self, rows: Rows) -> Rows:
        """Return the positions in the source of elements of the batches."""
        return positions(rows_through(rows, self._moves_below), self._read.stride)

    @cached_property
    def operations(self) -> tuple[tuple[int, bool], ...]:
        """The number of each operation that makes the batches, and whether its elements are batches, not rows.

        The first one reads the rows; operations below it have no part in that.
        """
        nodes = list(post_order(self._plan))
        first, batch = nodes.index(self._read), nodes.index(self._batch)
        return tuple((number, number >= batch) for number in range(first, len(nodes)))

    def close(self) -> None:
        """Release the thread."""
        self.__dict__.pop("_side", None)

    @cached_property
    def _side(self) -> SideThread:
        return side_thread(self._cores)


def gathering_of(plan: Node, memory: Memory, cores: frozenset[int] | None = None) -> Gathering | None:
    """Return the way to gather the plan's batches natively; `None` if making them takes more than reading rows.

    The native thread runs on these `cores` only, if they are given.
    """
    _, batch = end_of(plan)
    if type(batch) is not Batch:
        return None
    _, read = end_of(batch.input)
    source: GathersNatively | None = getattr(read, "gatherable", None)
    if source is None:
        return None
    gathering = Gathering(plan, batch, source, read, memory, cores)
    return gathering if gathering.jumps() else None

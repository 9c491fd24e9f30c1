"""Workers that gather batches of plain rows of arrays in memory by a native thread, which never takes the GIL."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.core.arrays import Rows
from penstock.core.cached import cached_property
from penstock.elements.chunks.chunk import Items
from penstock.elements.nested.structure import joining
from penstock.engine.tasks.cost import Cost
from penstock.engine.tasks.observer import count_nothing
from penstock.engine.tasks.task import Job, Made, Result, Task
from penstock.engine.tasks.works import Work
from penstock.index.epochs import positions
from penstock.kernels import Ahead, SideThread
from penstock.memory.cores import side_thread
from penstock.memory.pool import Memory
from penstock.ops.group.batch import Batch
from penstock.plan.flow import Piece
from penstock.plan.graph import end_of, post_order, rows_through
from penstock.plan.node import Node
from penstock.sources.powers import GathersNatively

PROBED = 8  # rows


class Gathered(Items):
    """A queue of batches that a native thread is making; the consumer takes them out one after another."""

    __slots__ = ("batch_rows", "queue", "size")

    def __init__(self, queue: Ahead, batch_rows: int) -> None:
        super().__init__([])
        self.queue = queue
        self.size = len(queue)
        self.batch_rows = batch_rows

    def __len__(self) -> int:
        return self.size

    def elements(self) -> Any:
        """Return the queue."""
        return self.queue

    def taken(self) -> tuple[int, Cost]:
        """Return the number of batches taken, and the time spent on the batches made so far."""
        return self.size - len(self.queue), Cost(*self.queue.took())


class NativeThread:
    """Workers that gather batches, each in its own memory, while the consumer continues; other tasks run at once.

    Batches of different sizes cannot be gathered together. Once other batches cannot be gathered, `gathers` is false.
    """

    name = "inline"
    shares_gil = False
    is_tuned = False
    ready = True

    def __init__(
        self,
        work: Work,
        batch: Batch,
        source: GathersNatively,
        read: Node,
        memory: Memory,
        cores: frozenset[int] | None,
    ) -> None:
        """Gather the rows of `source`, the elements of `read`, as `batch` of the plan of a work does."""
        self._work = work
        self._batch = batch
        self._moves, self._moves_below = end_of(work.plan)[0], end_of(batch.input)[0]  # of batches, and of elements
        self._source = source
        self._read = read
        self._memory = memory
        self._cores = cores
        self.gathers = True
        """True as long as an attempt is worthwhile: until rows turn out to be consecutive."""
        self.count = count_nothing
        """The function that counts the batches that were taken."""

    def jumps(self) -> bool:
        """Return whether the first rows of the plan do not all follow one another."""
        ids = np.arange(min(PROBED, self._work.plan.stride))
        its_rows, _ = self._batch.grouped(rows_through(ids, self._moves))
        return bool((np.diff(self._positions(its_rows[:PROBED])) != 1).any())

    def submit(
        self, job: Job, number: int, done: Callable[[Result], object], may_begin: Callable[[], bool] | None = None
    ) -> None:
        task = job.tasks[number]
        queue = self.begin(task)
        if queue is None:
            done(self._work.tried(task))
        else:
            done(Made(Piece(queue, task.given.ids), (0, Cost(0, 0))))

    def begin(self, task: Task) -> Gathered | None:
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
        self.gathers = made is not None
        return None if made is None else Gathered(made, size)

    def _positions(self, rows: Rows) -> Rows:
        """Return the positions in the source of elements of the batches."""
        return positions(rows_through(rows, self._moves_below), self._read.stride)

    @property
    def operations(self) -> tuple[tuple[int, bool], ...]:
        """The number of each operation that makes the batches, and whether its elements are batches, not rows.

        The first one reads the rows; operations below it have no part in that.
        """
        nodes = list(post_order(self._work.plan))
        first, batch = nodes.index(self._read), nodes.index(self._batch)
        return tuple((number, number >= batch) for number in range(first, len(nodes)))

    def admit(self) -> None:
        """Do nothing: no task waits."""

    def close(self) -> None:
        """Release the thread."""
        self.__dict__.pop("_side", None)

    @cached_property
    def _side(self) -> SideThread:
        return side_thread(self._cores)


def native_thread_for(work: Work, memory: Memory, cores: frozenset[int] | None = None) -> NativeThread | None:
    """Return workers for the batches of a work's plan; `None` if making them takes more than reading rows.

    The native thread runs on these `cores` only, if they are given.
    """
    _, batch = end_of(work.plan)
    if type(batch) is not Batch:
        return None
    _, read = end_of(batch.input)
    source: GathersNatively | None = getattr(read, "gatherable", None)
    if source is None:
        return None
    found = NativeThread(work, batch, source, read, memory, cores)
    return found if found.jumps() else None

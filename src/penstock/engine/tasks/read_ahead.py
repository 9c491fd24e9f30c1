"""The rows that the system is to read soon: those after the window, while tasks are seen to read from a disk."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from typing import TypeAlias

import numpy as np

from penstock.core.arrays import Rows
from penstock.core.errors import DataError
from penstock.engine.tasks.cost import Cost
from penstock.plan.graph import fold, post_order
from penstock.plan.node import Node
from penstock.sources.powers import advise_of, blocks_of_source

Tell: TypeAlias = Callable[[Rows], None]
"""Tells of rows that will be asked for soon."""
RowsOf: TypeAlias = Callable[[int, int], tuple[Rows, int]]
"""The rows that positions are made of, from the first up to one that is returned, at most the second."""

AHEAD_BYTES = 32 << 20  # that are read from the disk beyond the window
MOST_ROWS = 1 << 14  # that one task tells of
FEW_ROWS = 1 << 8  # that any task tells of: to name a row takes memory, and it may have read by chance
GAIN = 8  # times the rows of a task is what it tells of, until that is as far ahead as it should be; tasks grow
QUIET = 16  # tasks without a read, after which all data is taken to be in memory
BLOCK = 512  # bytes of what a task is said to have read
RECENT = 8  # tasks that the mean of their reads is of, or blocks that are read whole
SAMPLES = 8  # positions of each block that are told of
MOST_SAMPLES = 16  # that one task tells of


class ReadAhead:
    """Chooses the rows to tell of, each once, where somebody wants to be told (`heard`).

    Data that is in memory costs nothing: nobody is told of anything until a task has read from a disk, nor after
    `QUIET` tasks that have not. How far ahead follows from what tasks did read, and each tells of some times
    the rows that it makes. Where many rows are read as one block, few tasks read at all: then blocks count in place of
    tasks, and some rows of each are told of.
    """

    def __init__(self, *, heard: bool, size: int = 1, spacing: Callable[[], float] = lambda: 0.0) -> None:
        """Begin where all is in memory; a position is made of `size` rows, and a block of `spacing()` positions."""
        self._few, self._most = max(FEW_ROWS // size, 1), max(MOST_ROWS // size, 1)  # positions
        self._asked = 0  # where it was last asked what to tell of
        self._quiet: float = QUIET if heard else -1  # tasks since one that read; or nobody listens
        self._told = 0  # the first position that nobody was told of
        self._bytes = 0.0  # read from the disk for one position, of recent tasks
        self._spacing_of: Callable[[], float] = spacing

    @cached_property
    def _spacing(self) -> float:
        return self._spacing_of()

    def observe(self, cost: Cost, positions: float) -> None:
        """Take in what a task took that made so many positions."""
        if self._quiet < 0 or (self._quiet >= QUIET and not cost.reads):
            return
        weight = min(positions / self._spacing, 1.0) if self._spacing else 1.0
        if self._quiet >= QUIET:
            self._bytes = weight * cost.reads * BLOCK / positions
        self._bytes += (cost.reads * BLOCK / positions - self._bytes) * weight / RECENT
        self._quiet = 0 if cost.reads else self._quiet + weight

    def after(self, position: int, end: int, rows_of: RowsOf) -> Rows | None:
        """The rows to tell of, where tasks have begun for all before `position` of `end`; `None`: none."""
        if not 0 <= self._quiet < QUIET:
            self._asked = position
            return None
        made, self._asked = position - self._asked, position
        low = max(self._told, position)
        step = max(int(self._spacing / SAMPLES), 1)
        most = min(max(self._few, GAIN * made), self._most) if step == 1 else min(self._most, MOST_SAMPLES) * step
        high = min(position + max(int(AHEAD_BYTES / max(self._bytes, 1.0)), 1), low + most, end)
        if low >= high:
            return None
        if step == 1:
            rows, self._told = rows_of(low, high)
            return rows
        self._told = high
        places = range(-(-low // step) * step, high, step)
        return np.concatenate([rows_of(at, at + 1)[0] for at in places]) if places else None


def spacing(plan: Node, items: int, size: int) -> float:
    """How many of the `items`, each made of `size` rows of the plan, come of one block, about; 0: rows are read alone.

    Of several sources it is the one with the largest blocks, for it is read least often.
    """
    rows, blocks = fold(plan, _blocks_of)
    return min(items / blocks, rows / blocks / size) if blocks else 0.0


def telling(plan: Node) -> Tell | None:
    """Return the function that tells the sources which rows will be read; `None` if no source listens.

    They are rows of the plan or, of a stretch of elementwise work, of the indexed node that it stands on.
    """
    base = plan
    while not base.indexed and base.elementwise and base.inputs:
        base = base.inputs[0]
    if not base.indexed:
        return None
    own = {id(node): _of_source(node) for node in post_order(base) if not node.inputs}
    listens: set[int] = set()
    for node in post_order(base):
        if own.get(id(node)) is not None or any(id(below) in listens for below in node.inputs):
            listens.add(id(node))

    def run(rows: Rows) -> None:
        coming = [(base, rows)]
        while coming:
            node, its_rows = coming.pop()
            if (tell := own.get(id(node))) is not None:
                tell(its_rows)
            elif node.inputs:
                below = zip(node.inputs, node.needed(its_rows), strict=True)
                coming += [(each, needed) for each, needed in below if id(each) in listens and len(needed)]

    return run if id(base) in listens else None


def _blocks_of(node: Node, inputs: tuple[tuple[int, int], ...]) -> tuple[int, int]:
    """How many rows and blocks a source has that listens; none where it reads row by row."""
    source = getattr(node, "source", None)
    if node.inputs or advise_of(source) is None:
        return max(inputs, key=lambda found: found[0] / max(found[1], 1), default=(0, 0))
    with suppress(DataError, OSError):
        blocks = blocks_of_source(source)
        return (0, 0) if blocks is None else (blocks.length, blocks.count)
    return 0, 0


def _of_source(node: Node) -> Tell | None:
    advise, stride = advise_of(getattr(node, "source", None)), node.stride
    if advise is None:
        return None

    def run(rows: Rows) -> None:
        with suppress(DataError, OSError):  # what is wrong with data is for those to say who read it
            advise(rows % stride)

    return run

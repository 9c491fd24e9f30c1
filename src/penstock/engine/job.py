"""What a run makes: which program, over which rows, and how its results become what the consumer gets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np

from penstock.core.arrays import Allocate, Rows
from penstock.elements.chunks.stacking import Stack
from penstock.elements.nested.structure import joining
from penstock.ops.group.batch import Batch
from penstock.plan.node import Node, RowMap


@dataclass(frozen=True)
class Job:
    """A plan with seeds bound and rewrites done, seen from the engine.

    Where the plan ends in a batch, or in batches moved about (repeated, sharded, shuffled), tasks make those batches'
    *elements*, straight into their memory, so that several tasks can fill one batch and several batches can share one
    task. An *item* is what the consumer gets: a batch, or an element.
    """

    plan: Node

    @cached_property
    def batch(self) -> Batch | None:
        """The batch that the plan ends in, if it does."""
        below = self._moves[-1].input if self._moves else self.plan
        return below if isinstance(below, Batch) else None

    @cached_property
    def _moves(self) -> tuple[RowMap, ...]:
        """What moves whole items about: the passing nodes that the plan ends in, from its end."""
        moves: list[RowMap] = []
        node = self.plan
        while isinstance(node, RowMap):
            moves.append(node)
            node = node.input
        return tuple(moves)

    @cached_property
    def source(self) -> Node:
        """The node whose program the tasks run."""
        return self.plan if self.batch is None else self.batch.input

    @cached_property
    def size(self) -> int:
        """Rows of `source` to an item."""
        return 1 if self.batch is None else self.batch.size

    @property
    def items(self) -> int:
        """Items in one epoch."""
        return self.plan.stride

    def rows(self, epoch: int, low: int, high: int) -> tuple[Rows, int]:
        """The rows of `source` that items of an epoch are made of, from `low` up to the end that is returned.

        That is `high`, or where between them the first item comes that has more or fewer rows than that at `low`.
        """
        if self.batch is None:
            return self._numbered(epoch, low, high), high
        rows, counts = self.batch.grouped(self._moved(epoch, low, high))
        if not self.batch.all_full and len(others := np.flatnonzero(counts != counts[0])):
            count = int(others[0])
            return rows[: count * int(counts[0])], low + count
        return rows, high

    def _numbered(self, epoch: int, low: int, high: int) -> Rows:
        first = epoch * self.plan.stride
        return np.arange(first + low, first + high, dtype=np.int64)

    def _moved(self, epoch: int, low: int, high: int) -> Rows:
        """The rows of `batch` that the items are."""
        rows = self._numbered(epoch, low, high)
        for move in self._moves:
            rows = move.rows_of(rows)
        return rows

    def delivered(self, structure: Any, arrays: list[Stack], size: int, items: int, allocate: Allocate) -> list[Any]:
        """The items of a finished parcel: batches of `size` elements each, which lie in `arrays` end to end."""
        if items == 1:
            return [self.completing(structure, size, allocate)(arrays)]
        return cast("Batch", self.batch).folded(structure, arrays, size, items, allocate).held()

    def completing(self, structure: Any, size: int, allocate: Allocate) -> Callable[[Sequence[Stack]], Any]:
        """What makes a batch of `size` elements of its arrays."""
        batch, join = cast("Batch", self.batch), joining(structure)
        if not batch.pads:
            return join
        return lambda arrays: batch.completed(join(arrays), size, self.size, allocate)

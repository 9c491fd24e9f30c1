"""What a run makes: which program, over which rows, and how its results become what the consumer gets."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from penstock.elements.chunk import Column, Columns
from penstock.elements.structure import unflatten
from penstock.ops.group.batch import Batch
from penstock.plan.node import Node, Rows


@dataclass(frozen=True)
class Job:
    """A plan with seeds bound and rewrites done, seen from the engine.

    Where the plan ends in a batch, tasks make that batch's *elements*, straight into its memory, so that several tasks
    can fill one batch and several batches can share one task. An *item* is what the consumer gets: a batch, or an
    element.
    """

    plan: Node

    @cached_property
    def batch(self) -> Batch | None:
        """The batch that the plan ends in, if it does."""
        return self.plan if isinstance(self.plan, Batch) else None

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

    @cached_property
    def full_items(self) -> int:
        """Items in one epoch that have `size` rows; at most one more is shorter."""
        return min(self.plan.stride, self.source.stride // self.size) if self.source.stride else 0

    def rows(self, epoch: int, low: int, high: int) -> Rows:
        """The rows of `source` that items `low` to `high` of an epoch are made of."""
        stride = self.source.stride
        first, last = low * self.size, min(high * self.size, stride)
        return np.arange(epoch * stride + first, epoch * stride + last, dtype=np.int64)

    def missing_rows(self, items: int) -> int:
        """How many rows the first `items` of an epoch are short of full ones: the last may be."""
        return max(items * self.size - self.source.stride, 0) if self.source.length >= 0 else 0

    def delivered(self, structure: Any, arrays: list[np.ndarray], items: int) -> list[Any]:
        """The items of a finished parcel of batches; `arrays` have `items` batches end to end."""
        if items == 1:
            return [unflatten(structure, arrays)]
        columns: list[Column] = [array.reshape(items, self.size, *array.shape[1:]) for array in arrays]
        return Columns(structure, columns, items).elements()

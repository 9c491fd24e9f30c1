"""Stack consecutive elements into batches of several sizes in turn."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.core.arrays import Allocate, Rows
from penstock.core.cached import cached_property
from penstock.core.frozen import frozen
from penstock.elements.chunks.chunk import Chunk, Column, Columns
from penstock.elements.chunks.to_arrays import stack_all
from penstock.elements.nested.structure import unflatten
from penstock.elements.ragged import Ragged
from penstock.elements.sparse import Sparse
from penstock.elements.spec import Splits, batched, of_size, uneven_splits
from penstock.index.windowed import cycled, cycled_in
from penstock.ops.group.grouping import Collecting
from penstock.ops.group.uneven import UnevenBatch
from penstock.plan.types import INFINITE, UNKNOWN, Spec


@frozen()
class Rebatch(Collecting):
    """Stack consecutive elements into batches whose sizes are `sizes` in turn.

    `splits` is that of `UnevenBatch`, for leaves that are known to differ.
    """

    sizes: tuple[int, ...]
    splits: Splits | None = None

    @cached_property
    def length(self) -> int:
        if self.input.length < 0:
            return self.input.length
        return cycled_in(self.input.length, sizes=self.sizes, drop=self.drop_remainder)

    def spec(self) -> Spec | None:
        spec = self._uneven.spec() if self._uneven is not None else self.input.spec()
        if spec is None:
            return None
        size = self.static_size
        return self.completed_spec(of_size(spec, size) if self._uneven is not None else batched(spec, size), size)

    @property
    def static_size(self) -> int | None:
        """The number of elements of every batch, padding included; `None` if batches may differ."""
        size = self.sizes[0]
        if len(set(self.sizes)) > 1:
            return None
        all_full = self.drop_remainder or self.input.length == INFINITE
        known = self.input.length != UNKNOWN and self.input.length % size == 0
        return size if all_full or known or self.pads else None

    @cached_property
    def _uneven(self) -> UnevenBatch | None:
        splits = self.splits or uneven_splits(self.input.spec())
        return None if splits is None else UnevenBatch(self.input, 1, splits)

    def size_of(self, number: int) -> int:
        return self.sizes[number % (self.stride or 1) % len(self.sizes)]

    def first_of(self, number: int) -> int:
        turns, rest = divmod(number, len(self.sizes))
        return turns * sum(self.sizes) + sum(self.sizes[:rest])

    def grouped(self, rows: Rows) -> tuple[Rows, np.ndarray]:
        return cycled(
            rows, sizes=self.sizes, batches=self.stride, length=self.input.stride, input_stride=self.input.stride
        )

    def collect(self, chunk: Chunk, rows: Rows, allocate: Allocate) -> Any:
        uneven = self._uneven or self._seen_uneven(chunk)
        if uneven is not None:
            return uneven.collect(chunk, rows, allocate)
        structure, arrays = stack_all(chunk, rows, out=None, allocate=allocate)
        return unflatten(structure, arrays)

    def _seen_uneven(self, chunk: Chunk) -> UnevenBatch | None:
        """Return the batching node for columns of `Ragged` rows or `Sparse` arrays that the spec did not show."""
        if not isinstance(chunk, Columns) or not any(map(_is_uneven, chunk.columns)):
            return None
        splits = tuple(column.row_splits.dtype if isinstance(column, Ragged) else None for column in chunk.columns)
        return UnevenBatch(self.input, 1, splits)

    def arguments(self) -> str:
        return ", ".join([str(list(self.sizes)), *self.policy()])


def _is_uneven(column: Column) -> bool:
    if isinstance(column, list):
        return bool(column) and isinstance(column[0], Sparse)
    return isinstance(column, Ragged)

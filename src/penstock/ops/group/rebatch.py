"""Stack consecutive elements into batches of several sizes in turn."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from penstock.core.arrays import Allocate, Rows
from penstock.elements.chunks.chunk import Chunk, Column, Columns, Items
from penstock.elements.chunks.gathering import stack_all
from penstock.elements.nested.structure import unflatten
from penstock.elements.ragged import Ragged
from penstock.elements.sparse import Sparse
from penstock.elements.spec import Splits, batched, of_size, uneven_splits
from penstock.index.windowed import cycled, cycled_in
from penstock.ops.group.batching import Batching
from penstock.ops.group.grouping import spans
from penstock.ops.group.uneven import UnevenBatch
from penstock.plan.blame import blame
from penstock.plan.flow import Flow, Mark, Open, Piece, Reader, resumed
from penstock.plan.ids import ordinals
from penstock.plan.node import Node
from penstock.plan.traits import Traits
from penstock.plan.types import INFINITE, UNKNOWN, Program, Spec


@dataclass(frozen=True)
class Rebatch(Batching):
    """Stack consecutive elements into batches whose sizes are `sizes` in turn.

    `splits` is that of `UnevenBatch`, for leaves that are known to differ.
    """

    traits = Traits(ids="counted")

    input: Node
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

    def cycled(self, rows: Rows) -> tuple[Rows, Rows]:
        """Return the input's rows of all batches, one batch after another, and the number of rows of each."""
        return cycled(
            rows, sizes=self.sizes, batches=self.stride, length=self.input.stride, input_stride=self.input.stride
        )

    def route(self, rows: Rows) -> tuple[Rows, ...]:
        return (self.cycled(rows)[0],)

    def program(self, inputs: tuple[Program, ...], allocate: Allocate) -> Program:
        (source,) = inputs

        def run(rows: Rows, out: list[np.ndarray] | None = None) -> Chunk:
            its_rows, counts = self.cycled(rows)
            chunk = source(its_rows)
            made = [
                self.collect(chunk.slice(low, high), its_rows[low:high], row, allocate)
                for row, (low, high) in zip(rows.tolist(), spans(counts), strict=True)
            ]
            return Items(made)

        return run

    def collect(self, chunk: Chunk, rows: Rows, row: int, allocate: Allocate) -> Any:
        """Return the batch of the elements of `chunk`, which are `rows` of the input."""
        try:
            made = self._stacked(chunk, rows, allocate)
            return self.completed(made, len(chunk), self.sizes[row % self.stride % len(self.sizes)], allocate)
        except Exception as error:
            blame(error, self, row)
            raise

    def _stacked(self, chunk: Chunk, rows: Rows, allocate: Allocate) -> Any:
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

    def flow(self, inputs: tuple[Open, ...], epoch: int, mark: Mark, allocate: Allocate) -> Flow:
        made, at = resumed(mark, (0, None))
        with Reader(inputs[0], epoch, at) as reader:
            while (run := reader.take(size := self.sizes[made % len(self.sizes)])) is not None:
                if len(run) < size and self.drop_remainder:
                    return
                batch = self.collect(run.chunk, run.ids, made, allocate)
                made += 1
                yield Piece(Items([batch]), ordinals(epoch, made - 1, 1), [made, reader.mark])

    def arguments(self) -> str:
        return ", ".join([str(list(self.sizes)), *self.policy()])


def _is_uneven(column: Column) -> bool:
    if isinstance(column, list):
        return bool(column) and isinstance(column[0], Sparse)
    return isinstance(column, Ragged)

"""Stack consecutive elements with leaves that are known to differ in length."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.core.arrays import Allocate
from penstock.core.frozen import frozen
from penstock.elements.chunks.chunk import Column
from penstock.elements.chunks.stacking import Origin
from penstock.elements.leaves.uneven import ragged, sparse, stacked
from penstock.elements.nested.structure import Structure
from penstock.elements.ragged import Ragged
from penstock.elements.sparse import Sparse
from penstock.elements.spec import ArraySpec, LeafSpec, RaggedSpec, Splits, batched, uneven_splits
from penstock.ops.group.leafwise import LeafwiseGrouping


@frozen()
class UnevenBatch(LeafwiseGrouping):
    """Stack `size` consecutive elements: rows of `Ragged` become `Ragged`, `Sparse` arrays are as large as the largest.

    `splits` holds the dtype of the splits for each leaf that is a row of a `Ragged`. Other leaves are stacked as by
    `Batch`. `splits` is `None` if the plan had no spec; then the values decide.
    """

    splits: Splits | None

    @property
    def name(self) -> str:
        return "batch"

    def told(self, structure: Structure) -> Sequence[Any]:
        splits = self.splits or uneven_splits(self.input.spec())
        return [None] * structure.num_leaves if splits is None else splits

    def leaf(self, column: Column, told: Any, origin: Origin, allocate: Allocate) -> Any:
        if told is None and isinstance(column, Ragged):
            told = column.row_splits.dtype
        if told is not None:
            return ragged(column, 1, told, origin, allocate)
        if isinstance(column, list) and column and isinstance(column[0], Sparse):
            return sparse(column, (None,) * column[0].ndim, origin, allocate)
        return stacked(column, origin, allocate)

    def leaf_spec(self, leaf: LeafSpec, told: Any, size: int | None, origin: Origin) -> LeafSpec:
        if told is not None and isinstance(leaf, ArraySpec):
            return RaggedSpec((size, *leaf.shape), leaf.dtype, 1, told)
        return batched(leaf, size)

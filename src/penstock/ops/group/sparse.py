"""Collect consecutive elements of different shapes as sparse arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.core.arrays import Allocate
from penstock.core.errors import ElementError
from penstock.core.frozen import frozen
from penstock.elements.chunks.chunk import Column
from penstock.elements.chunks.stacking import Origin
from penstock.elements.leaves.uneven import sparse
from penstock.elements.nested.per_leaf import PartialShape, filled, fits, shape_per_leaf
from penstock.elements.nested.structure import Structure
from penstock.elements.spec import LeafSpec, ObjectSpec, RaggedSpec, SparseSpec, batched
from penstock.ops.group.leafwise import LeafwiseGrouping


@frozen()
class SparseBatch(LeafwiseGrouping):
    """Collect `size` consecutive elements as `Sparse`, whose rows have the shape `row_shape`.

    `row_shape` is one shape for all leaves, or one for each in the nesting of the elements; `()` is for numbers and
    text, which are stacked.
    """

    row_shape: Any

    @property
    def name(self) -> str:
        return "sparse_batch"

    def told(self, structure: Structure) -> Sequence[PartialShape]:
        call, wanted = "sparse_batch(row_shape=", "a shape such as [1000]"
        shapes = shape_per_leaf(self.row_shape, structure, argument=call, wanted=wanted)
        return [shape or () for shape in shapes]

    def leaf(self, column: Column, told: Any, origin: Origin, allocate: Allocate) -> Any:
        return sparse(column, told, origin, allocate)

    def leaf_spec(self, leaf: LeafSpec, told: Any, size: int | None, origin: Origin) -> LeafSpec:
        if isinstance(leaf, RaggedSpec):
            raise TypeError(f"sparse_batch: {leaf!r}{origin.where} cannot become sparse; use batch or to_dense()")
        known = () if isinstance(leaf, ObjectSpec) else leaf.shape
        if not fits(told, known):
            raise ElementError(f"sparse_batch: {leaf!r}{origin.where} does not fit into the row_shape {list(told)}")
        if isinstance(leaf, ObjectSpec) or not told:
            return batched(leaf, size)
        return SparseSpec((size, *filled(told, known)), leaf.dtype)

    def arguments(self) -> str:
        return ", ".join([str(self.size), f"row_shape={self.row_shape!r}", *self.policy()])

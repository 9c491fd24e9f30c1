"""Collect consecutive elements of different shapes as ragged rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from penstock.core.arrays import Allocate
from penstock.core.errors import ElementError
from penstock.core.frozen import frozen
from penstock.elements.chunks.chunk import Column
from penstock.elements.chunks.stacking import Origin
from penstock.elements.leaves.uneven import ragged
from penstock.elements.nested.per_leaf import PartialShape, filled, fits, shape_per_leaf
from penstock.elements.nested.structure import Structure, flatten
from penstock.elements.ragged import Ragged
from penstock.elements.spec import ArraySpec, LeafSpec, RaggedSpec, batched, leaf_spec
from penstock.ops.group.leafwise import LeafwiseGrouping
from penstock.plan.types import Spec

RaggedShape: TypeAlias = tuple[int | None, PartialShape | None]
"""The number of dimensions of a leaf that may differ, and its shape; `None` for no instruction."""


@frozen()
class RaggedBatch(LeafwiseGrouping):
    """Collect `size` consecutive elements: leaves of known shape are stacked, others become `Ragged`.

    `ranks` is the number of dimensions of each leaf that may differ; `None`, for a plan without a spec, means the first
    dimension of every array. The ranks are found when the plan is built and are not changed by elements seen later.
    `row_shapes`, one for all leaves or one for each, takes precedence.
    """

    row_splits_dtype: np.dtype[Any]
    ranks: tuple[int, ...] | None = None
    row_shapes: Any = None

    @property
    def name(self) -> str:
        return "ragged_batch"

    def told(self, structure: Structure) -> Sequence[RaggedShape]:
        ranks = [None] * structure.num_leaves if self.ranks is None else self.ranks
        if self.row_shapes is None:
            return [(rank, None) for rank in ranks]
        call, wanted = "ragged_batch(row_shapes=", "a shape such as [None, 3]"
        shapes = shape_per_leaf(self.row_shapes, structure, argument=call, wanted=wanted)
        return [(rank if shape is None else _rank(shape), shape) for rank, shape in zip(ranks, shapes, strict=True)]

    def leaf(self, column: Column, told: RaggedShape, origin: Origin, allocate: Allocate) -> Any:
        rank, shape = told
        made = ragged(column, rank, self.row_splits_dtype, origin, allocate)
        if shape is not None and not _has_rows(made, shape):
            raise ElementError(
                f"ragged_batch: {leaf_spec(made)!r}{origin.where} is not a batch of rows of the shape {list(shape)}; "
                "pass None in row_shapes for sizes that may differ"
            )
        return made

    def leaf_spec(self, leaf: LeafSpec, told: RaggedShape, size: int | None, origin: Origin) -> LeafSpec:
        rank, shape = told
        if isinstance(leaf, ArraySpec):
            if shape is not None and not (fits(shape, leaf.shape) and fits(leaf.shape, shape)):
                raise ElementError(f"ragged_batch: {leaf!r}{origin.where} does not have the row_shape {list(shape)}")
            known = leaf.shape if shape is None else filled(shape, leaf.shape)
            rank = min(1, len(known)) if rank is None else rank
            if rank:
                return RaggedSpec((size, *[None] * rank, *known[rank:]), leaf.dtype, rank, self.row_splits_dtype)
            leaf = replace(leaf, shape=known)
        made = batched(leaf, size)
        return replace(made, row_splits_dtype=self.row_splits_dtype) if isinstance(made, RaggedSpec) else made

    def arguments(self) -> str:
        shapes = [] if self.row_shapes is None else [f"row_shapes={self.row_shapes!r}"]
        return ", ".join([super().arguments(), *shapes])


def ranks_of(spec: Spec | None) -> tuple[int, ...] | None:
    """Return the number of dimensions of each leaf that may differ: those up to the last of unknown size.

    >>> ranks_of((ArraySpec((None, 3), np.dtype("f4")), ArraySpec((28, 28), np.dtype("u1"))))
    (1, 0)
    """
    if spec is None:
        return None
    leaves: list[LeafSpec] = flatten(spec)[0]
    shapes = [leaf.shape if isinstance(leaf, ArraySpec) else () for leaf in leaves]
    return tuple(map(_rank, shapes))


def _rank(shape: PartialShape) -> int:
    return max((i + 1 for i, size in enumerate(shape) if size is None), default=0)


def _has_rows(batch: Any, shape: PartialShape) -> bool:
    """Return True if the rows of a batch have these sizes, or if there are none."""
    for size in shape[: _rank(shape)]:
        if not isinstance(batch, Ragged) or (size is not None and (batch.row_lengths() != size).any()):
            return False
        batch = batch.values
    rest = shape[_rank(shape) :]
    return isinstance(batch, np.ndarray) and (batch.shape[1:] == rest or not len(batch))

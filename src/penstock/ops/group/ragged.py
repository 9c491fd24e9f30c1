"""Collect consecutive elements of different shapes as ragged rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from penstock.elements.chunk import Column
from penstock.elements.spec import ArraySpec, LeafSpec, RaggedSpec, batched
from penstock.elements.stacking import Origin
from penstock.elements.structure import Structure, flatten
from penstock.elements.uneven import ragged
from penstock.ops.group.leafwise import LeafwiseGrouping
from penstock.plan.node import Allocate, Spec


@dataclass(frozen=True)
class RaggedBatch(LeafwiseGrouping):
    """Collect `size` consecutive elements: leaves whose shapes are known are stacked, others become `Ragged`.

    `ranks` says how many dimensions of each leaf may differ; `None`, where the plan does not tell, is the first of
    every array. It is found when the plan is built, and not changed by what is learnt of the input later.
    """

    row_splits_dtype: np.dtype[Any]
    ranks: tuple[int, ...] | None = None

    @property
    def name(self) -> str:
        return "ragged_batch"

    def told(self, structure: Structure) -> Sequence[int | None]:
        return [None] * structure.num_leaves if self.ranks is None else self.ranks

    def leaf(self, column: Column, told: Any, origin: Origin, allocate: Allocate) -> Any:
        return ragged(column, told, self.row_splits_dtype, origin, allocate)

    def leaf_spec(self, leaf: LeafSpec, told: Any, size: int | None, origin: Origin) -> LeafSpec:
        if isinstance(leaf, ArraySpec):
            rank = min(1, len(leaf.shape)) if told is None else told
            if rank:
                shape = (size, *[None] * rank, *leaf.shape[rank:])
                return RaggedSpec(shape, leaf.dtype, rank, self.row_splits_dtype)
        made = batched(leaf, size)
        return replace(made, row_splits_dtype=self.row_splits_dtype) if isinstance(made, RaggedSpec) else made


def ranks_of(spec: Spec | None) -> tuple[int, ...] | None:
    """How many dimensions of each leaf may differ: those up to the last of unknown size.

    >>> ranks_of((ArraySpec((None, 3), np.dtype("f4")), ArraySpec((28, 28), np.dtype("u1"))))
    (1, 0)
    """
    if spec is None:
        return None
    leaves: list[LeafSpec] = flatten(spec)[0]
    shapes = [leaf.shape if isinstance(leaf, ArraySpec) else () for leaf in leaves]
    return tuple(max((i + 1 for i, size in enumerate(shape) if size is None), default=0) for shape in shapes)

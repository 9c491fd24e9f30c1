"""Pad consecutive elements to one shape and stack them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Any

import numpy as np

from penstock.core.arrays import Allocate
from penstock.core.errors import ElementError
from penstock.core.frozen import frozen
from penstock.elements.chunks.chunk import Column
from penstock.elements.chunks.stacking import Origin
from penstock.elements.leaves.uneven import check_text_fill, fill_value, pad_column, pad_groups, refuse_datasets
from penstock.elements.nested.per_leaf import PartialShape, filled, fits, per_leaf, shape_per_leaf
from penstock.elements.nested.structure import Structure
from penstock.elements.spec import ArraySpec, LeafSpec, ObjectSpec
from penstock.ops.group.in_slot import for_elements, or_else
from penstock.ops.group.leafwise import LeafwiseGrouping


@frozen()
class PaddedBatch(LeafwiseGrouping):
    """Stack `size` consecutive elements after padding their leaves to `padded_shapes` with `padding_values`.

    Both hold one value for all leaves, or one per leaf in the nesting of the elements; `None` is the largest size of
    the batch, and zero or empty text. `operation` is the name of the user's call.
    """

    padded_shapes: Any = None
    padding_values: Any = None
    operation: str = field(default="padded_batch", kw_only=True, metadata={"runs": True})

    @property
    def name(self) -> str:
        return self.operation

    def told(self, structure: Structure) -> Sequence[tuple[PartialShape | None, Any]]:
        call, wanted = f"{self.name}(padded_shapes=", "a shape such as [None, 3]"
        shapes = shape_per_leaf(self.padded_shapes, structure, argument=call, wanted=wanted)
        call, wanted = f"{self.name}(padding_values=", "a number or a text"
        fills = per_leaf(self.padding_values, structure, _is_value, argument=call, wanted=wanted)
        return list(zip(shapes, fills, strict=True))

    def fills(self, structure: Structure) -> Sequence[Any]:
        return [fill for _, fill in self.told(structure)]

    def leaf(self, column: Column, told: Any, origin: Origin, allocate: Allocate) -> Any:
        shape, fill = told
        made = pad_column(column, shape, fill, origin, allocate)
        self._check_fill(fill, made, 1, origin)
        return made

    def leaves(
        self, column: Column, told: Any, origin: Origin, memory: np.ndarray | None, allocate: Allocate
    ) -> Column:
        (shape, fill), count = told, len(column)
        own = allocate if memory is None else or_else(for_elements(memory, count // self.size, count), allocate)
        made = pad_groups(column, self.size, shape, fill, origin, own)
        if made is None:
            return super().leaves(column, told, origin, memory, allocate)
        self._check_fill(fill, made, 2, origin)
        return made

    def _check_fill(self, fill: Any, made: Any, outer: int, origin: Origin) -> None:
        """Raise an error for a fill that does not fit values that may be padded, whether or not these values were."""
        if fill is not None and (made.ndim > outer or self.pads):
            fill_value(fill, made, origin)

    def leaf_spec(self, leaf: LeafSpec, told: Any, size: int | None, origin: Origin) -> LeafSpec:
        if isinstance(leaf, ObjectSpec):
            refuse_datasets(leaf.type, origin)
            if self.pads:
                check_text_fill(told[1], leaf.type, origin)
            leaf = ArraySpec((), np.dtype(object))
        if not isinstance(leaf, ArraySpec):
            raise TypeError(f"{self.name}: {leaf!r}{origin.where} is not padded; use batch, or to_dense() in a map")
        shape: PartialShape = (None,) * len(leaf.shape) if told[0] is None else told[0]
        if not fits(shape, leaf.shape):
            raise ElementError(f"{self.name}: {leaf!r}{origin.where} does not fit into the shape {list(shape)}")
        if leaf.shape or self.pads:
            fill_value(told[1], np.empty(0, leaf.dtype), origin)
        return ArraySpec((size, *filled(shape, leaf.shape)), leaf.dtype)

    def arguments(self) -> str:
        shapes = [] if self.padded_shapes is None else [f"padded_shapes={self.padded_shapes!r}"]
        values = [] if self.padding_values is None else [f"padding_values={self.padding_values!r}"]
        return ", ".join([str(self.size), *shapes, *values, *self.policy()])


def _is_value(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.ndim == 0
    return isinstance(value, bool | int | float | complex | str | bytes | np.generic)

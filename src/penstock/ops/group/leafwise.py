"""The shared parts of batches that turn each leaf's values into one value, by instructions for that leaf."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import field, replace
from typing import Any

import numpy as np

from penstock.core.arrays import Allocate, Rows
from penstock.core.frozen import frozen
from penstock.elements.chunks.chunk import Chunk, Column, Columns
from penstock.elements.chunks.stacking import Origin
from penstock.elements.nested.structure import Structure, flatten, paths, unflatten
from penstock.elements.spec import ArraySpec, LeafSpec, SparseSpec, map_leaves
from penstock.ops.group.grouping import Grouping, Groups
from penstock.ops.group.in_slot import InSlot, OptionalSlot
from penstock.plan.types import Spec


@frozen()
class LeafwiseGrouping(Grouping):
    """Collect `size` consecutive elements leaf by leaf; a subclass makes each leaf's value and spec.

    `shapes_known` is True if the plan knew the shapes of the elements when it was built: a shape learned later from one
    element does not hold for others.
    """

    shapes_known: bool = field(default=True, kw_only=True, metadata={"runs": True})

    def told(self, structure: Structure) -> Sequence[Any]:
        """Return the instructions of the user, or of the plan, for each leaf."""
        raise NotImplementedError

    def leaf(self, column: Column, told: Any, origin: Origin, allocate: Allocate) -> Any:
        """Return one value for the values of a leaf."""
        raise NotImplementedError

    def leaf_spec(self, leaf: LeafSpec, told: Any, size: int | None, origin: Origin) -> LeafSpec:
        """Return the spec of that value for `size` values; raise an error now for what is certain to fail later."""
        raise NotImplementedError

    def spec(self) -> Spec | None:
        spec = self.input.spec()
        if spec is None:
            return None
        leaves, structure = flatten(spec if self.shapes_known else map_leaves(_without_sizes, spec))
        size = self.static_size
        parts = zip(leaves, self.told(structure), paths(structure), strict=True)
        made = [self.leaf_spec(leaf, told, size, Origin(path, operation=self.name)) for leaf, told, path in parts]
        return self.completed_spec(unflatten(structure, made), size)

    def leaves(
        self, column: Column, told: Any, origin: Origin, memory: np.ndarray | None, allocate: Allocate
    ) -> Column:
        """Return the value of a leaf for each `size` of these values, in its place in `memory` where it fits."""
        count = len(column) // self.size
        slot = InSlot(None if memory is None else [memory], count, allocate)
        groups = [column[at * self.size : (at + 1) * self.size] for at in range(count)]
        made = slot.whole([self.leaf(group, told, origin, slot.next()) for group in groups])
        return made.columns[0] if isinstance(made, Columns) else made.values

    def collect(self, chunk: Chunk, rows: Rows, allocate: Allocate) -> Any:
        structure, parts = self._parts(chunk, rows)
        return unflatten(structure, [self.leaf(column, told, origin, allocate) for column, told, origin in parts])

    def collect_all(self, groups: Groups, out: OptionalSlot, allocate: Allocate) -> Chunk:
        """Make all groups leaf by leaf if they are full, so that their elements are taken apart only once."""
        numbers, chunk, rows, counts = groups
        if self.pads or not len(numbers) or bool((counts != self.size).any()):
            return super().collect_all(groups, out, allocate)
        with suppress(Exception):  # making each group alone shows which is at fault, or whether they differ
            structure, parts = self._parts(chunk, rows)
            places = out if out is not None and len(out) == structure.num_leaves else [None] * structure.num_leaves
            made = [self.leaves(*part, memory, allocate) for part, memory in zip(parts, places, strict=True)]
            return Columns(structure, made, len(numbers))
        return super().collect_all(groups, None, allocate)

    def _parts(self, chunk: Chunk, rows: Rows) -> tuple[Structure, Iterable[tuple[Column, Any, Origin]]]:
        """Return the structure of elements, and the values of each leaf with its instructions and origin."""
        name = self.name
        columns = chunk.to_columns(rows, operation=name)
        structure = columns.structure
        origins = [Origin(path, rows, name) for path in paths(structure)]
        return structure, zip(columns.columns, self.told(structure), origins, strict=True)


def _without_sizes(_: str, leaf: LeafSpec) -> LeafSpec:
    return replace(leaf, shape=(None,) * len(leaf.shape)) if isinstance(leaf, ArraySpec | SparseSpec) else leaf

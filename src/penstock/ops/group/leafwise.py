"""The shared parts of batches that turn each leaf's values into one value, by instructions for that leaf."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from typing import Any

from penstock.core.arrays import Allocate, Rows
from penstock.core.frozen import frozen
from penstock.elements.chunks.chunk import Chunk, Column
from penstock.elements.chunks.stacking import Origin
from penstock.elements.nested.structure import Structure, flatten, paths, unflatten
from penstock.elements.spec import ArraySpec, LeafSpec, SparseSpec, map_leaves
from penstock.ops.group.grouping import Grouping
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

    def collect(self, chunk: Chunk, rows: Rows, allocate: Allocate) -> Any:
        columns = chunk.to_columns(rows, operation=self.name)
        structure = columns.structure
        parts = zip(columns.columns, self.told(structure), paths(structure), strict=True)
        made = [self.leaf(column, told, Origin(path, rows, self.name), allocate) for column, told, path in parts]
        return unflatten(structure, made)


def _without_sizes(_: str, leaf: LeafSpec) -> LeafSpec:
    return replace(leaf, shape=(None,) * len(leaf.shape)) if isinstance(leaf, ArraySpec | SparseSpec) else leaf

"""What batches of elements of similar length have in common: they are padded, each by itself."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from penstock.elements.per_leaf import is_shape
from penstock.elements.spec import LeafSpec, ObjectSpec, map_leaves
from penstock.elements.structure import flatten, unflatten
from penstock.ops.group.batch import Batch
from penstock.ops.group.gathering import Gathering
from penstock.ops.group.grouping import Grouping
from penstock.ops.group.padded import PaddedBatch
from penstock.plan.flow import Piece
from penstock.plan.node import Allocate, Spec


@dataclass(frozen=True)
class ByLength(Gathering):
    """Batch elements of similar length together, padded as `padded_batch` pads, or not at all where `no_padding`.

    `shapes_known` is whether the plan told the shapes of the elements when it was built.
    """

    padded_shapes: Any = None
    padding_values: Any = None
    no_padding: bool = False
    shapes_known: bool = field(default=True, kw_only=True, metadata={"runs": True})

    def batch(self, size: int | None = None) -> Grouping:
        """What makes a batch of elements, where `size` stands for sizes that are left open in `padded_shapes`."""
        below = self.input.input
        if self.no_padding:
            return Batch(below, 1, drop_remainder=False)
        shapes = self.padded_shapes if size is None else with_size(self.padded_shapes, size)
        return PaddedBatch(below, 1, False, shapes, self.padding_values, shapes_known=self.shapes_known)

    def spec(self) -> Spec | None:
        return map_leaves(of_any_size, self.batch().spec())

    def collect(self, key: int, run: Piece, allocate: Allocate) -> Any:
        return self.batch().collect(run.chunk, run.ids, allocate)

    def padding(self) -> list[str]:
        """The arguments about padding and the rest, as the user would write them."""
        shapes = [] if self.padded_shapes is None else [f"padded_shapes={self.padded_shapes!r}"]
        values = [] if self.padding_values is None else [f"padding_values={self.padding_values!r}"]
        unpadded = ["no_padding=True"] if self.no_padding else []
        return [*shapes, *values, *unpadded, *(["drop_remainder=True"] if self.drop_remainder else [])]


def with_size(shapes: Any, size: int) -> Any:
    """Shapes, one for all leaves or a nesting of them, with `size` in the place of what is left open.

    >>> with_size({"x": [None, 3], "y": ()}, 7)
    {'x': (7, 3), 'y': ()}
    """
    leaves, structure = flatten(shapes, keep=is_shape)
    return unflatten(structure, [tuple(size if each in (None, -1) else int(each) for each in leaf) for leaf in leaves])


def of_any_size(_: str, leaf: LeafSpec) -> LeafSpec:
    """Return the spec of a leaf of a batch without the number of elements."""
    return leaf if isinstance(leaf, ObjectSpec) else replace(leaf, shape=(None, *leaf.shape[1:]))

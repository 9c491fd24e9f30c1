"""The shared parts of nodes that batch elements of similar length: each batch is padded separately."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Any

from penstock.core.arrays import Allocate
from penstock.core.frozen import frozen
from penstock.elements.nested.per_leaf import as_shape, is_shape
from penstock.elements.nested.structure import Structure, flatten, unflatten
from penstock.elements.spec import of_size
from penstock.ops.group.batch import Batch
from penstock.ops.group.batching import Batching
from penstock.ops.group.by_key import Gather
from penstock.ops.group.grouping import Grouping
from penstock.ops.group.padded import PaddedBatch
from penstock.ops.group.pending import Full
from penstock.plan.types import Spec


@frozen()
class ByLength(Batching, Gather):
    """Batch elements of similar length together, padded as by `padded_batch`, or not padded if `no_padding`.

    `shapes_known` is True if the plan knew the shapes of the elements when it was built.
    """

    padded_shapes: Any = None
    padding_values: Any = None
    no_padding: bool = False
    shapes_known: bool = field(default=True, kw_only=True, metadata={"runs": True})

    @property
    def keeps_left(self) -> bool:
        return not self.drop_remainder

    @property
    def static_size(self) -> int | None:
        """The number of elements of every batch, padding included; `None` if batches may differ."""
        return None

    def batch(self, size: int | None = None) -> Grouping:
        """Return the node that makes one batch, with `size` for sizes that are open in `padded_shapes`."""
        below = self.asked.input
        if self.no_padding:
            return Batch(below, 1, mask_key=self.mask_key)
        shapes = self.padded_shapes if size is None else with_size(self.padded_shapes, size)
        values, known = self.padding_values, self.shapes_known
        return PaddedBatch(below, 1, shapes, values, mask_key=self.mask_key, shapes_known=known, operation=self.name)

    def spec(self) -> Spec | None:
        spec = self.batch().spec()
        return None if spec is None else of_size(spec, self.static_size)

    def fills(self, structure: Structure) -> Sequence[Any]:
        return self.batch().fills(structure)

    def batch_of(self, key: int) -> Grouping:
        """Return the node that makes the batches of a key."""
        return self.batch()

    def collect(self, group: Full, allocate: Allocate) -> Any:
        run = group.elements
        made = self.batch_of(group.key).collect(run.chunk, run.ids, allocate)
        return self.completed(made, len(run), group.most, allocate)

    def padding(self) -> list[str]:
        """Return the arguments about padding and the remainder, as the user would write them."""
        shapes = [] if self.padded_shapes is None else [f"padded_shapes={self.padded_shapes!r}"]
        values = [] if self.padding_values is None else [f"padding_values={self.padding_values!r}"]
        unpadded = ["no_padding=True"] if self.no_padding else []
        return [*shapes, *values, *unpadded, *self.policy(), *self.asked.handling]


def with_size(shapes: Any, size: int) -> Any:
    """Return shapes, one for all leaves or a nesting of them, with `size` for each open size.

    >>> with_size({"x": [None, 3], "y": ()}, 7)
    {'x': (7, 3), 'y': ()}
    """
    leaves, structure = flatten(shapes, keep=is_shape)
    given = [as_shape(leaf) or () for leaf in leaves]
    return unflatten(structure, [tuple(size if each is None else each for each in shape) for shape in given])

"""The shared parts of nodes that make batches: the policy for the last batch, and the number of elements in batches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from operator import attrgetter
from typing import Any, cast

import numpy as np

from penstock.core.arrays import Allocate
from penstock.core.frozen import frozen
from penstock.elements import chunks
from penstock.elements.chunks.chunk import Chunk, Columns
from penstock.elements.nested.structure import Structure, flatten, paths, unflatten
from penstock.elements.ragged import Ragged
from penstock.elements.sparse import Sparse
from penstock.plan.node import Node, RowMap
from penstock.plan.types import Spec

NDIM = attrgetter("ndim")


@frozen()
class Batching(Node):
    """Make batches; a batch with too few elements is kept as it is, dropped, or padded.

    `drop_remainder` drops it. A `mask_key` pads it with empty elements and gives every batch a mask of the real
    elements, `bool[size]`: a batch that is a dict holds it under that key, any other batch becomes the pair (batch,
    mask).
    """

    drop_remainder: bool = field(default=False, kw_only=True)
    mask_key: str | None = field(default=None, kw_only=True)

    @property
    def pads(self) -> bool:
        """True if batches are padded and have a mask."""
        return self.mask_key is not None

    def fills(self, structure: Structure) -> Sequence[Any]:
        """Return the padding value of each leaf of a batch; `None` is zero, an empty string or an empty row."""
        return [None] * structure.num_leaves

    def completed(self, batch: Any, count: int, size: int, allocate: Allocate) -> Any:
        """Return the batch of `count` elements, padded to `size` if that is the policy."""
        if self.mask_key is None:
            return batch
        if count < size:
            leaves, structure = flatten(batch)
            parts = zip(leaves, self.fills(structure), paths(structure), strict=True)
            longer = [
                chunks.padding.lengthened(leaf, size, fill, path, self.name, allocate) for leaf, fill, path in parts
            ]
            batch = unflatten(structure, longer)
        flags = allocate((max(count, size),), np.dtype(np.bool_))
        flags[:count], flags[count:] = True, False
        return chunks.padding.with_flag(batch, flags, self.mask_key)

    def completed_spec(self, spec: Spec, size: int | None) -> Spec:
        """Return the spec of such a batch, given the spec without flags, of `size` elements if that is known."""
        return spec if self.mask_key is None else chunks.padding.flagged_spec(spec, self.mask_key, shape=(size,))

    def policy(self) -> list[str]:
        """Return the arguments about the remainder, as the user would write them."""
        if self.mask_key is not None:
            return ['remainder="pad"', *([] if self.mask_key == "valid" else [f"mask_key={self.mask_key!r}"])]
        return ["drop_remainder=True"] if self.drop_remainder else []


def batching_of(plan: Node) -> Batching | None:
    """Return the batching operation that the plan ends in, even if moved or followed by maps, or `None`."""
    while not isinstance(plan, Batching):
        if plan.subplans:
            plan = plan.subplans[0]
        elif isinstance(plan, RowMap) or (plan.traits.one_to_one and plan.elementwise):
            (plan,) = plan.inputs
        else:
            return None
    return plan


def rows_in_all(chunk: Chunk, batches: list[Any]) -> int:
    """Return the number of elements in the batches of a chunk; columns are counted at once, arrays without Python."""
    if isinstance(chunk, Columns) and chunk.columns and isinstance(first := chunk.columns[0], np.ndarray):
        return len(batches) * (first.shape[1] if first.ndim > 1 else 1)
    firsts: list[Any] = [next(iter(batch.values()), 1) if type(batch) is dict else batch for batch in batches]
    if set(map(type, firsts)) == {np.ndarray} and all(map(NDIM, firsts)):
        return sum(map(len, firsts))
    return sum(map(rows_in, batches))


def rows_in(batch: Any) -> int:
    """Return the number of elements in a batch, padding included: the rows of its first array.

    >>> rows_in({"x": np.zeros((3, 2)), "y": 1}), rows_in((7, [np.zeros(2)])), rows_in("text")
    (3, 2, 1)
    """
    waiting = [batch]
    while waiting:
        value = waiting.pop()
        if isinstance(value, np.ndarray | Ragged | Sparse):
            return value.shape[0] or 0 if value.shape else 1
        if isinstance(value, dict | list | tuple):
            parts = cast("dict[Any, Any]", value).values() if isinstance(value, dict) else value
            waiting += reversed([*cast("list[Any]", parts)])
    return 1

"""What nodes that make batches have in common: what becomes of the elements that are left for the last of an epoch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from penstock.core.arrays import Allocate
from penstock.elements import chunks
from penstock.elements.nested.structure import Structure, flatten, paths, unflatten
from penstock.plan.node import Node
from penstock.plan.types import Spec


@dataclass(frozen=True)
class Batching(Node):
    """Make batches; one that has too few elements comes as it is, or not at all, or is filled up.

    It is left out with `drop_remainder`. With a `mask_key` it is filled up with empty elements, and every batch has
    flags of which elements are real, `bool[size]`: a batch that is a dict has them under that key, another becomes the
    pair (batch, flags).
    """

    drop_remainder: bool = field(default=False, kw_only=True)
    mask_key: str | None = field(default=None, kw_only=True)

    @property
    def pads(self) -> bool:
        """Whether batches are filled up, and have flags."""
        return self.mask_key is not None

    def fills(self, structure: Structure) -> Sequence[Any]:
        """What to fill up each leaf of a batch with; `None` is zero, empty text or an empty row."""
        return [None] * structure.num_leaves

    def completed(self, batch: Any, count: int, size: int, allocate: Allocate) -> Any:
        """The batch of `count` elements, filled up to `size` where that is the policy."""
        if self.mask_key is None:
            return batch
        if count < size:
            leaves, structure = flatten(batch)
            parts = zip(leaves, self.fills(structure), paths(structure), strict=True)
            longer = [
                chunks.padding.lengthened(leaf, size, fill, path, self.name, allocate) for leaf, fill, path in parts
            ]
            batch = unflatten(structure, longer)
        return chunks.padding.with_flag(batch, np.arange(max(count, size)) < count, self.mask_key)

    def completed_spec(self, spec: Spec, size: int | None) -> Spec:
        """The spec of such a batch, given that without flags, of `size` elements if that is known."""
        return spec if self.mask_key is None else chunks.padding.flagged_spec(spec, self.mask_key, shape=(size,))

    def policy(self) -> list[str]:
        """The arguments about what is left, as the user would write them."""
        if self.mask_key is not None:
            return ['remainder="pad"', *([] if self.mask_key == "valid" else [f"mask_key={self.mask_key!r}"])]
        return ["drop_remainder=True"] if self.drop_remainder else []

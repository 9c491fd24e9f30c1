"""The shared parts of nodes that make batches: the policy for elements left over at the end of an epoch."""

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
    """Make batches; a batch with too few elements is kept as it is, dropped, or padded.

    `drop_remainder` drops it. A `mask_key` pads it with empty elements and gives every batch flags of the real
    elements, `bool[size]`: a batch that is a dict holds them under that key, any other batch becomes the pair (batch,
    flags).
    """

    drop_remainder: bool = field(default=False, kw_only=True)
    mask_key: str | None = field(default=None, kw_only=True)

    @property
    def pads(self) -> bool:
        """True if batches are padded and have flags."""
        return self.mask_key is not None

    def fills(self, structure: Structure) -> Sequence[Any]:
        """Return the padding value of each leaf of a batch; `None` is zero, empty text or an empty row."""
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

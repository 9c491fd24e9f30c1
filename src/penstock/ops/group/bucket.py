"""Batch elements by the bucket of their length."""

from __future__ import annotations

import numpy as np

from penstock.core.cached import cached_property
from penstock.core.errors import ElementError
from penstock.core.frozen import frozen
from penstock.ops.group.by_length import ByLength
from penstock.ops.group.grouping import Grouping


@frozen()
class BucketBySequenceLength(ByLength):
    """Batch `sizes[i]` elements of the i-th bucket of lengths; the first ends below `boundaries[0]`, and so on.

    If `to_boundary`, sizes that `padded_shapes` leaves open become the largest length of the bucket.
    """

    boundaries: tuple[int, ...] = ()
    sizes: tuple[int, ...] = (1,)
    to_boundary: bool = False

    @property
    def name(self) -> str:
        return "bucket_by_sequence_length"

    def keys(self, numbers: list[int]) -> list[int]:
        return np.searchsorted(self.boundaries, numbers, side="right").tolist()

    def most(self, key: int, largest: int) -> int:
        return self.sizes[key]

    @cached_property
    def _batches(self) -> list[Grouping]:
        if not self.to_boundary:
            return [self.batch()] * len(self.sizes)
        return [self.batch(boundary - 1) for boundary in self.boundaries]

    @property
    def static_size(self) -> int | None:
        return self.sizes[0] if self.pads and len(set(self.sizes)) == 1 else None

    def batch_of(self, key: int) -> Grouping:
        if key == len(self._batches):
            raise ElementError(
                f"bucket_by_sequence_length: an element of length {self.boundaries[-1]} or more has no boundary to be "
                "padded to; remove such elements with filter(), add a boundary, or leave pad_to_bucket_boundary "
                "out"
            )
        return self._batches[key]

    def arguments(self) -> str:
        boundary = ["pad_to_bucket_boundary=True"] if self.to_boundary else []
        sizes = [str(list(self.boundaries)), str(list(self.sizes))]
        return ", ".join([self.asked.called, *sizes, *boundary, *self.padding()])

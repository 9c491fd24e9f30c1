"""Batch as many elements of similar length as fit in a number of tokens."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from penstock.core.errors import ElementError
from penstock.core.frozen import frozen
from penstock.ops.group.by_length import ByLength
from penstock.plan.blame import blame


@frozen()
class BatchByTokens(ByLength):
    """Batch elements so that their number times the longest length is at most `max_tokens`.

    Elements whose lengths differ by less than a share of `tolerance` are batched together, at most `max_batch_size` of
    them.
    """

    joins_left = True

    max_tokens: int = 1
    tolerance: float = 0.1
    max_batch_size: int | None = None

    @property
    def name(self) -> str:
        return "batch_by_tokens"

    def keys(self, numbers: list[int]) -> list[int]:
        return np.searchsorted(bounds(self.max_tokens, self.tolerance), numbers).tolist()

    def most(self, key: int, largest: int) -> int:
        if largest > self.max_tokens:
            error = ElementError(
                f"batch_by_tokens: an element of length {largest} alone is more than max_tokens={self.max_tokens}; "
                "remove such elements with filter(), or shorten them"
            )
            blame(error, self, None)
            raise error
        most = self.max_tokens // max(largest, 1)
        return most if self.max_batch_size is None else min(most, self.max_batch_size)

    def arguments(self) -> str:
        tolerance = [] if self.tolerance == 0.1 else [f"tolerance={self.tolerance}"]
        most = [] if self.max_batch_size is None else [f"max_batch_size={self.max_batch_size}"]
        return ", ".join([self.asked.called, str(self.max_tokens), *tolerance, *most, *self.padding()])


@lru_cache(maxsize=16)
def bounds(largest: int, tolerance: float) -> tuple[int, ...]:
    """Return the greatest length of each group: up to `tolerance` more than its least; the last exceeds `largest`.

    >>> bounds(20, 0.25)
    (1, 2, 3, 5, 7, 10, 13, 17, 22)
    """
    found, least = list[int](), 1
    while least <= largest:
        found.append(max(int(least * (1 + tolerance)), least))
        least = found[-1] + 1
    return tuple(found)

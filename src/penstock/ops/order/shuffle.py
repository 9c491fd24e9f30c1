"""Permute the elements."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.index.permuted import permuted
from penstock.plan.node import Passing, Rows


@dataclass(frozen=True)
class Shuffle(Passing):
    """Permute each epoch by a bijection keyed by `seed` and, where `reshuffle`, by the epoch.

    With `window` elements move by less than about `window` places; without, anywhere in the epoch.
    """

    window: int | None
    seed: int | None
    reshuffle: bool

    def rows_of(self, rows: Rows) -> Rows:
        if self.seed is None:
            raise RuntimeError("a shuffle without a seed reached the compiler; bind_seeds comes first")
        return permuted(rows, length=self.stride, key=self.seed, window=self.window, reshuffle=self.reshuffle)

    def arguments(self) -> str:
        window = [] if self.window is None else [str(self.window)]
        seed = [] if self.seed is None else [f"seed={self.seed}"]
        reshuffle = [] if self.reshuffle else ["reshuffle_each_iteration=False"]
        return ", ".join(window + seed + reshuffle)

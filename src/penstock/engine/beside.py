"""Batches that native code makes beside the consumer, which takes them one by one."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.engine.task import Cost
from penstock.kernels import Ahead


@dataclass(frozen=True, slots=True)
class Beside:
    """Batches of an epoch from `low` on, each of so many rows and bytes: how many in all, and a queue of those left."""

    low: int
    items: int
    left: Ahead
    batch_rows: int
    batch_bytes: int

    @property
    def nbytes(self) -> int:
        """Bytes of all batches."""
        return self.items * self.batch_bytes

    def taken(self) -> tuple[int, int, int, Cost]:
        """How many were taken, of how many rows and bytes, and what was spent on them."""
        taken = self.items - len(self.left)
        return taken, taken * self.batch_rows, taken * self.batch_bytes, Cost(*self.left.took())

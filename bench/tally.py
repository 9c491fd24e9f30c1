"""The report of a contender: the number of rows delivered and, on request, proof that they are correct.

Contenders import this file in their own environments, so it needs only NumPy.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np


class Tally:
    """Count the rows of a run; on a `thorough` run also check every value, without affecting measured times."""

    def __init__(self, thorough: bool) -> None:
        self.thorough = thorough
        self.rows = 0
        self.started = time.perf_counter()
        self.extra: dict[str, Any] = {}
        self._shapes: set[str] = set()
        self._ids: list[np.ndarray] = []
        self._low, self._high, self._total, self._count = np.inf, -np.inf, 0.0, 0

    def start(self) -> None:
        """Restart the clock: all work so far was preparation, such as starting workers or filling a prefetch queue."""
        self.rows = 0
        self.started = time.perf_counter()

    def add(self, data: Any, ids: Any) -> None:
        """Take one batch: `data` of shape (k, ...), and `ids` of shape (k,), which identify the records."""
        self.rows += len(ids)
        if self.thorough:
            self._look(np.asarray(data), np.asarray(ids))

    def _look(self, data: np.ndarray, ids: np.ndarray) -> None:
        self._shapes.add(f"{data.dtype} {data.shape}")
        self._ids.append(np.array(ids).reshape(-1).astype(np.int64))
        if len(self._ids) % 4 != 1:
            return  # values of a quarter of the batches are enough for their range and mean
        self._low, self._high = min(self._low, float(data.min())), max(self._high, float(data.max()))
        self._total += float(data.sum(dtype=np.float64))
        self._count += data.size

    def checks(self) -> dict[str, Any]:
        """Summarize a thorough run: shapes of the batches, range and mean of the data, a histogram of the records."""
        if not self._ids:
            return {}
        values, counts = np.unique(np.concatenate(self._ids), return_counts=True)
        return {
            "rows": self.rows,
            "shapes": sorted(self._shapes),
            "low": self._low,
            "high": self._high,
            "mean": self._total / max(self._count, 1),
            "records": len(values),
            "fewest": int(counts.min()),
            "most": int(counts.max()),
            "first_record": int(values[0]),
            "last_record": int(values[-1]),
        }


def record_ids(data: np.ndarray) -> np.ndarray:
    """Read the record number that `bench.data` wrote into the first four bytes of each row of `data` (k, ...) uint8."""
    return np.ascontiguousarray(data.reshape(len(data), -1)[:, :4]).view("<u4")[:, 0]

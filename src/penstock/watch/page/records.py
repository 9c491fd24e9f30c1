"""The costs of single records in one operation: their distribution, and the slowest."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from penstock.watch.page.facts import Costs

_AT_A_TIME = 4096  # records that are counted together
SLOWEST_RECORDS = 20  # that are kept
SHOWN_RECORDS = 5
FAR_FROM_MEAN = 5  # times the mean: records from there on are told as a share of all time
LEAST_SHARE = 0.1  # of the time: what less takes is not worth a sentence


@dataclass
class RecordCosts:
    """The times of records, by their ids, in an amount of memory that does not grow with their number.

    >>> costs = RecordCosts()
    >>> costs.add([7, 8, 9], [1000, 1000, 98_000])
    >>> costs.heading("map(f)"), costs.named(lambda record: f"file {record}")
    ('The slowest of 3 records in map(f)', ['98.0 µs: file 9', '1.0 µs: file 8', '1.0 µs: file 7'])
    """

    costs: Costs = field(default_factory=Costs)  # of which only the bars and the total are used
    count: int = 0
    slowest: list[tuple[int, int]] = field(default_factory=list)  # a heap of times and ids
    _ids: list[int] = field(default_factory=list)  # of records that are still to be counted
    _times: list[int] = field(default_factory=list)

    def add(self, ids: Sequence[int], times: Sequence[int]) -> None:
        """Add the times (ns) of some records; `settle` counts them."""
        self._ids += ids
        self._times += times
        if len(self._ids) >= _AT_A_TIME:
            self.settle()

    def settle(self) -> None:
        """Count what was added, many records at a time, which takes a small part of the time of one by one."""
        ids, times, self._ids, self._times = self._ids, self._times, [], []
        if not ids:
            return
        taken = np.maximum(np.asarray(times, np.int64), 1)
        self.count += len(taken)
        self.costs.add_each(taken)
        least = self.slowest[0][0] if len(self.slowest) == SLOWEST_RECORDS else -1
        for at in np.flatnonzero(taken > least).tolist():
            entry = int(taken[at]), int(ids[at])
            if len(self.slowest) < SLOWEST_RECORDS:
                heapq.heappush(self.slowest, entry)
            else:
                heapq.heappushpop(self.slowest, entry)

    @property
    def mean(self) -> float:
        """The mean time of a record, in ns."""
        self.settle()
        return self.costs.total / max(self.count, 1)

    def heading(self, operation: str) -> str:
        """Return the share of the time that records far from the mean took, if that is much."""
        mean = self.mean
        far = [took for took, _ in self.slowest if took > FAR_FROM_MEAN * mean]
        share = sum(far) / max(self.costs.total, 1)
        if share < LEAST_SHARE:
            return f"The slowest of {self.count:,} records in {operation}"
        many = f"{len(far)} of {self.count:,} records take" if len(far) > 1 else f"1 of {self.count:,} records takes"
        return f"{many} {100 * share:.0f} % of the time of {operation}"

    def named(self, name_of: Callable[[int], str]) -> list[str]:
        """Return the times of the slowest records, with their names."""
        self.settle()
        slowest = sorted(self.slowest, reverse=True)[:SHOWN_RECORDS]
        return [f"{_time(took)}: {name_of(record)}" for took, record in slowest]


def _time(took: int) -> str:
    for unit, size in (("s", 1e9), ("ms", 1e6)):
        if took >= size:
            return f"{took / size:,.1f} {unit}"
    return f"{took / 1e3:,.1f} µs"

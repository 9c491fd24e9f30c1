"""Facts about a run that take a bounded amount of memory, however long it is: busy times, costs, levels."""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

BINS = 240  # of a timeline; when a run outgrows them, two become one
FIRST_WIDTH = 1_000_000  # ns of a bin
BARS_A_DOUBLING = 4  # bars of a histogram for each doubling of the cost
SLOWEST = 6  # tasks that are kept


@dataclass
class Timeline:
    """The time that each lane was busy, in bins of equal width that grow with the run."""

    began: int
    width: int = FIRST_WIDTH
    lanes: dict[str, list[float]] = field(default_factory=dict)

    def add(self, lane: str, begin: int, took: int, busy: int | None = None) -> None:
        """Add a time of a lane, in ns, for all of which, or for `busy` ns of which, it was busy.

        >>> line = Timeline(began=0, width=10)
        >>> line.add("worker", 5, 10)
        >>> line.lanes["worker"][:3]
        [5.0, 5.0, 0.0]
        """
        share = 1.0 if busy is None else busy / max(took, 1)
        begin = max(begin - self.began, 0)
        end = begin + took
        while end > BINS * self.width:
            self._fold()
        bins = self.lanes.setdefault(lane, [0.0] * BINS)
        for at in range(begin // self.width, min(-(-end // self.width), BINS)):
            bins[at] += share * max(min(end, (at + 1) * self.width) - max(begin, at * self.width), 0)

    def _fold(self) -> None:
        self.width *= 2
        for lane, bins in self.lanes.items():
            self.lanes[lane] = [bins[at] + bins[at + 1] for at in range(0, BINS, 2)] + [0.0] * (BINS // 2)

    def shares(self, lane: str) -> list[float]:
        """Return the share of each bin that a lane was busy."""
        return [min(busy / self.width, 1.0) for busy in self.lanes[lane]]


class CostlyTask(NamedTuple):
    """A task among the slowest: its wall time in ns, the operation, its first item, and the number of its items."""

    took: int
    name: str
    item: int
    items: int


@dataclass
class Costs:
    """The distribution of the costs of tasks for each item, and the slowest tasks."""

    bars: dict[int, int] = field(default_factory=dict)
    total: int = 0
    tasks: int = 0
    slowest: list[CostlyTask] = field(default_factory=list)  # a heap

    def add(self, task: CostlyTask) -> None:
        """Add a task."""
        each = max(task.took / max(task.items, 1), 1.0)
        bar = math.floor(BARS_A_DOUBLING * math.log2(each))
        self.bars[bar] = self.bars.get(bar, 0) + max(task.items, 1)
        self.total += task.took
        self.tasks += 1
        if len(self.slowest) < SLOWEST:
            heapq.heappush(self.slowest, task)
        else:
            heapq.heappushpop(self.slowest, task)

    def add_each(self, times: NDArray[np.int64]) -> None:
        """Add the costs of single items, in ns, each at least 1."""
        bars, counts = np.unique(np.floor(BARS_A_DOUBLING * np.log2(times)).astype(np.int64), return_counts=True)
        for bar, count in zip(bars.tolist(), counts.tolist(), strict=True):
            self.bars[bar] = self.bars.get(bar, 0) + count
        self.total += int(times.sum())

    def histogram(self) -> list[tuple[float, int]]:
        """Return the least cost (s) and the number of items of each bar, without gaps."""
        if not self.bars:
            return []
        return [
            (2 ** (at / BARS_A_DOUBLING) / 1e9, self.bars.get(at, 0))
            for at in range(min(self.bars), max(self.bars) + 1)
        ]


@dataclass
class Levels:
    """Values at moments, the half of which are forgotten whenever there are too many."""

    most: int = 256
    times: list[float] = field(default_factory=list)  # s
    values: dict[str, list[float]] = field(default_factory=dict)

    def add(self, time: float, values: dict[str, float]) -> None:
        """Add the values of a moment, always of the same names."""
        self.times.append(time)
        for name, value in values.items():
            self.values.setdefault(name, []).append(value)
        if len(self.times) >= self.most:
            del self.times[1::2]
            for kept in self.values.values():
                del kept[1::2]

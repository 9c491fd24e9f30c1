"""The few tasks that take much longer than the others, and the tasks that workers make behind them meanwhile."""

from __future__ import annotations

from dataclasses import dataclass

RARE = 8  # multiple of the mean cost above which a task is one of the few that hold up many others
LEAST_BEYOND = 4_000_000  # ns beyond the mean; less is soon over
FORGOTTEN = 256  # tasks after which most of what the longest took beyond the mean is forgotten
MOST_HELD_UP = 32  # tasks for each worker, at most
HELD_UP_BYTES = 256 << 20  # the most bytes of them


@dataclass(slots=True)
class LongTasks:
    """The costs of the two longest tasks of late, in ns, which decay to the mean; a single one may be chance."""

    second: float = 0.0
    longest: float = 0.0

    def observe(self, cost: float, mean: float) -> None:
        """Add the cost of a task."""
        second = self.second - (self.second - mean) / FORGOTTEN
        longest = self.longest - (self.longest - mean) / FORGOTTEN
        if cost > longest:
            second, longest = longest, cost
        elif cost > second:
            second = cost
        self.second, self.longest = second, longest

    def held_up(self, mean: float) -> int:
        """Return the tasks that a worker makes while a long one is made; 0 if none is long.

        >>> tasks = LongTasks()
        >>> for at in range(80):
        ...     tasks.observe(200e6 if at % 40 == 39 else 5e6, 10e6)
        >>> tasks.held_up(10e6)
        17
        """
        if self.second <= RARE * mean or self.second - mean <= LEAST_BEYOND:
            return 0
        return int(min(self.second / mean, MOST_HELD_UP))

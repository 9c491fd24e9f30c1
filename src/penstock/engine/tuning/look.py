"""A look at the tasks that some number of threads made: their cost, and the time that passed."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from penstock.engine.tasks.cost import MS, Cost

SHORTEST_LOOK = 50 * MS
ONE_CORE = 0.7  # cores in use at which some task runs that others may wait for
JUST_ONE = 1.2
STARVED = 0.2  # share of tasks' time without a core; above it, other processes may have used the core
LONGEST_YIELD = 10 * MS  # ns; a thread that waits for the GIL asks again every 5 ms


@dataclass
class Look:
    """A measured period with one number of threads; it starts when `settling` earlier tasks have ended."""

    settling: int = 0
    lasts: int = SHORTEST_LOOK  # the fewest ns
    tasks: int = 0
    made: float = 0.0  # items
    spent: Cost = field(default_factory=lambda: Cost(0, 0))
    passed: int = 0  # ns on the wall clock
    used: int = 0  # ns of CPU time, by the whole process
    waited: int = 0  # ns that the consumer waited while threads had work to do

    @property
    def rate(self) -> float:
        """The throughput in items per ns."""
        return self.made / self.passed

    @property
    def work(self) -> int:
        """The time that tasks took without waiting for a core, in ns."""
        return max(self.spent.wall - self.spent.starved, 0)

    @property
    def cores_used(self) -> float:
        """The mean number of cores that this process kept busy."""
        return self.used / self.passed

    def waiting(self, threads: int) -> float:
        """Return the time tasks waited, within them or to begin, for anything but a core, in units of their CPU time.

        Tasks that block give up their core. Time blocked without that is time that a virtual machine lost.
        """
        spent = self.spent
        within = spent.blocked if spent.yields else 0
        between = max(threads * self.waited - spent.wall, 0)
        return (within + between) / spent.cpu if spent.cpu else math.inf

    @property
    def ran_one(self) -> bool:
        """True if tasks used one core, as tasks that hold the GIL do."""
        return ONE_CORE * self.passed < self.spent.cpu < JUST_ONE * self.passed

    @property
    def waited_for_others(self) -> bool:
        """True if each wait was no longer than a wait for the GIL, while a core was in use."""
        return self.cores_used > ONE_CORE and self.spent.yields >= self.spent.blocked / LONGEST_YIELD

    @property
    def starved(self) -> bool:
        """True if tasks were without a core for much of the time."""
        return self.spent.starved > STARVED * self.spent.wall

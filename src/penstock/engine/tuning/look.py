"""A look at the tasks that some number of threads made, and waits that last some looks."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple

from penstock.engine.tasks.cost import MS, Cost

SHORTEST_LOOK = 50 * MS
ONE_CORE = 0.7  # cores in use at which some task runs that others may wait for
JUST_ONE = 1.2
STARVED = 0.2  # share of tasks' time without a core; above it, other processes may have used the core
LONGEST_YIELD = 10 * MS  # ns; a thread that waits for the GIL asks again every 5 ms
PATIENCE = 4  # looks before a failed attempt is repeated, and the factor for each time after
LONGEST_PATIENCE = 1024


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

    def count_waits_for_gil(self) -> None:
        """Count the CPU time of tasks beyond that of the process as waits for the GIL.

        The few tasks measured in full have just been given the GIL, so they wait for it less than those that they
        represent.
        """
        beyond = max(self.spent.cpu - self.used, 0)
        self.spent.cpu -= beyond
        self.spent.yields += -(-beyond // LONGEST_YIELD)

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


class Wait(NamedTuple):
    """The looks until an attempt of one kind: those that are `left`, and those to wait `after_failure` of the next."""

    left: int = 0
    after_failure: int = PATIENCE

    @property
    def is_over(self) -> bool:
        """True if the attempt may be made."""
        return self.left < 0

    @property
    def follows_failure(self) -> bool:
        """True while an attempt waits because one like it has failed."""
        return not self.is_over and self.after_failure > PATIENCE

    def looked(self) -> Wait:
        """Return the wait after one more look."""
        return self._replace(left=self.left - 1)

    def begun_again(self) -> Wait:
        """Return the wait from its beginning on."""
        return self._replace(left=self.after_failure)

    def failed(self) -> Wait:
        """Return the wait after an attempt that has failed: the next failure will be followed by a longer one."""
        return Wait(self.after_failure, min(PATIENCE * self.after_failure, LONGEST_PATIENCE))


NO_WAIT = Wait()

"""Worker processes, plans and memory for pools that a dataset keeps for its next runs."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from penstock import memory
from penstock.engine import workers
from penstock.memory.pool import Memory

if TYPE_CHECKING:
    from penstock.engine.tasks.observer import Observer
    from penstock.engine.workers.handed_in.pickled import PickledPlan
    from penstock.engine.workers.processes.plans import SharedPlan
    from penstock.engine.workers.processes.pool import ProcessPool
    from penstock.engine.workers.processes.starting import PoolSetup
    from penstock.memory.arena import Arena
    from penstock.plan.safety.reads import Reads
    from penstock.transport.dumped_plan import Rebuildable

MOST_PLANS = 64  # kept by worker processes; virtual streams have many that differ in a seed


class KeptWorkers:
    """The workers outside this process that later epochs use again, with the plans that they have."""

    def __init__(self, memory: Memory) -> None:
        """Let batches lie in `memory`, whose arena worker processes get too, if it has one."""
        self._memory = memory
        self._arena = memory.arena
        self._pool: ProcessPool | None = None
        self._plans: deque[SharedPlan] = deque(maxlen=MOST_PLANS)
        self._pickled: list[PickledPlan] = []

    def plan(self, work: Rebuildable, observer: Observer, reads: Reads | None = None) -> SharedPlan:
        """Return the plan of a work for worker processes: that of an earlier run, which they have, if it is alike."""
        return workers.processes.plans.plan_for_workers(work, observer, self._plans, reads)

    def pickled_plan(self, work: Rebuildable, observer: Observer) -> PickledPlan:
        """Return the plan of a work for an executor: that of an earlier run, unless its functions read other values."""
        return workers.handed_in.pickled.pickled_plan(work, observer, self._pickled)

    def pool(self, setup: PoolSetup, budget: int) -> ProcessPool:
        """Return the worker processes, which are kept as long as this object."""
        if self._pool is None or not self._pool.is_open or self._pool.setup != setup:
            self._pool = workers.processes.pool.pool_for(setup, budget, self._arena)
            self._memory.use(self._pool.arena)
        return self._pool

    def arena(self, budget: int, *, given: bool) -> tuple[Arena | None, str | None]:
        """Return the memory for pools that the user hands in, and what the user should know about it."""
        made, notice = memory.arena.arena_within(budget, given=given)
        self._memory.use(made)
        return made, notice

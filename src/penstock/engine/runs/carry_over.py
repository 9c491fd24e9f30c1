"""Memory, tuning and worker processes that one run of a dataset passes on to the next."""

from __future__ import annotations

from collections import deque
from copy import copy
from typing import TYPE_CHECKING

from penstock import engine
from penstock.core.arrays import AllocateAll, Reserve
from penstock.engine import memory, processes
from penstock.engine.memory.pool import Memory, each_alone, in_one_block
from penstock.engine.tuning.tuner import PinnedTuner, Tuner

if TYPE_CHECKING:
    from penstock.core.tunings import TaskTuning
    from penstock.engine.handed_in.pickled import PickledPlan
    from penstock.engine.memory.arena import Arena
    from penstock.engine.processes.plans import SharedPlan
    from penstock.engine.processes.pool import ProcessPool
    from penstock.engine.processes.starting import PoolSetup
    from penstock.engine.tasks.observer import Observer
    from penstock.engine.tasks.works import Rebuildable
    from penstock.plan.safety.reads import Reads

MOST_PLANS = 64  # kept by worker processes; virtual streams have many that differ in a seed


class CarryOver:
    """Memory and tuners that a dataset keeps for its iterators, so that later epochs begin well tuned."""

    def __init__(self, memory: Memory | None = None) -> None:
        self.memory = memory or Memory()
        self._arena = self.memory.arena  # for worker processes too, if the caller's memory has one
        self.allocate_slot: AllocateAll = each_alone(self.memory.allocate)
        self._pool: ProcessPool | None = None
        self._plans: deque[SharedPlan] = deque(maxlen=MOST_PLANS)
        self._pickled: list[PickledPlan] = []
        self.has_given_slots = False
        self._tuners: dict[int, Tuner] = {}

    def into(self, reserve: Reserve) -> CarryOver:
        """Return the same memory and tuning for runs whose batches are written into blocks from `reserve`."""
        made = copy(self)
        made.allocate_slot, made.has_given_slots = in_one_block(reserve), True
        return made

    def plan(self, work: Rebuildable, observer: Observer, reads: Reads | None = None) -> SharedPlan:
        """Return the plan of a work for worker processes: that of an earlier run, which they have, if it is alike."""
        return processes.plans.plan_for_workers(work, observer, self._plans, reads)

    def pickled_plan(self, work: Rebuildable, observer: Observer) -> PickledPlan:
        """Return the plan of a work for an executor: that of an earlier run, unless its functions read other values."""
        return engine.handed_in.pickled.pickled_plan(work, observer, self._pickled)

    def pool(self, setup: PoolSetup, budget: int) -> ProcessPool:
        """Return the worker processes, which are kept as long as this object."""
        if self._pool is None or not self._pool.is_open or self._pool.setup != setup:
            self._pool = processes.pool.pool_for(setup, budget, self._arena)
            self.memory.use(self._pool.arena)
        return self._pool

    def arena(self, budget: int, *, given: bool) -> tuple[Arena | None, str | None]:
        """Return the memory for pools that the user hands in, and what the user should know about it."""
        arena, notice = memory.arena.arena_within(budget, given=given)
        self.memory.use(arena)
        return arena, notice

    def tuner(
        self, workers: int | None, *, stage: int = 0, begins_inline: bool = False, pinned: TaskTuning | None = None
    ) -> Tuner:
        """Return a tuner for the next run, or one of its stages, with the measurements of the last run."""
        last = self._tuners.get(stage)
        if last is not None:
            tuner = last.heir(begins_inline=begins_inline)
        else:
            tuner = Tuner(workers) if pinned is None else PinnedTuner(workers, pinned=pinned)
        self._tuners[stage] = tuner
        return tuner

"""Pools of worker processes: kept warm over epochs, and shared by all datasets that ask for the same."""

from __future__ import annotations

import os
import threading
import weakref
from weakref import WeakSet

from penstock.engine.workers.lifetime import watch_over
from penstock.engine.workers.processes.crew import Crew
from penstock.engine.workers.processes.plans import SharedPlan
from penstock.engine.workers.processes.starting import MAKES_TASKS, PoolSetup
from penstock.memory.arena import Arena, new_arena
from penstock.transport.loans import LentMemory

# Pools belong to the process, as their workers do. A pool ends with the last dataset that refers to it.
_pools: weakref.WeakValueDictionary[PoolSetup, ProcessPool] = weakref.WeakValueDictionary()


class ProcessPool:
    """Worker processes and the arena that they share with this process.

    The workers end when the pool is let go or closed, and when this process ends in whatever way.
    """

    def __init__(self, setup: PoolSetup, budget: int, arena: Arena | None = None) -> None:
        """Share an `arena` with the workers, or a new one; a process of whole runs has one of its own."""
        self.setup = setup
        self.notice: str | None = None
        if arena is None and setup.program == MAKES_TASKS:
            arena, self.notice = new_arena(budget)
        self.arena = arena
        self.crew = Crew(setup, self.arena)
        self._adopted: WeakSet[SharedPlan] = WeakSet()
        self._lent: LentMemory | None = None
        self._wanted: weakref.WeakKeyDictionary[object, int] = weakref.WeakKeyDictionary()  # workers, by run
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._stop = weakref.finalize(self, _stop, self.crew, self._process)
        watch_over(self)

    @property
    def is_open(self) -> bool:
        """True if the workers of the pool are, or were, children of this process, and it takes tasks."""
        mine = self._stop.alive and self._process == os.getpid()
        return mine and self.crew.failure is None and self.crew.no_start is None

    def adopt(self, plan: SharedPlan) -> None:
        """Let the workers forget a plan once it is let go."""
        if plan not in self._adopted:
            self._adopted.add(plan)
            weakref.finalize(plan, self.crew.forget, plan.number).atexit = False

    def want(self, run: object, workers: int) -> None:
        """Have as many workers as the run that wants the most, of those that have not ended; at most all of them."""
        with self._lock:
            self._wanted[run] = workers
            self.crew.resize(min(max(self._wanted.values()), self.setup.workers))

    def let_go(self, run: object) -> None:
        """Forget what a run wanted, which is over."""
        with self._lock:
            self._wanted.pop(run, None)

    def lent(self, owner: int, descriptor: int, size: int) -> LentMemory:
        """Return the memory that a worker lends to all lines alike, given its file, which is closed."""
        with self._lock:
            if self._lent is None or self._lent.owner != owner:
                self._lent = LentMemory(owner, descriptor, size)
            os.close(descriptor)
            return self._lent

    def close(self) -> None:
        """Let the workers end, within half a second."""
        self._stop()

    def after_fork(self) -> None:
        """Leave the workers to the parent, in a forked child."""
        self._stop.detach()
        self.crew.after_fork()


def pool_for(setup: PoolSetup, budget: int, arena: Arena | None = None) -> ProcessPool:
    """Return the pool with these settings; a new one has this arena, or one within the `budget` in bytes."""
    pool = _pools.get(setup)
    if pool is None or not pool.is_open:
        pool = _pools[setup] = ProcessPool(setup, budget, arena)
    return pool


def _stop(crew: Crew, process: int) -> None:
    if process == os.getpid():
        crew.stop()

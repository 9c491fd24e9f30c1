"""The workers of a run in other processes and on other hosts: the same for all stages that do the same work."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from penstock.core.budget import Budget
from penstock.engine import workers
from penstock.engine.tasks.observer import Observer
from penstock.engine.tasks.works import Work
from penstock.engine.tuning.settings import Settings
from penstock.engine.workers.kept import KeptWorkers

if TYPE_CHECKING:
    from penstock.core.events import RunEvent
    from penstock.engine.workers.handed_in.replaceable import ReplaceableExecutor
    from penstock.engine.workers.handed_in.workers import RemoteWorkers
    from penstock.engine.workers.processes.plans import SharedPlan
    from penstock.engine.workers.processes.pool import ProcessPool
    from penstock.engine.workers.processes.workers import MovedWorkers, ProcessWorkers
    from penstock.plan.safety.reads import Reads

W = TypeVar("W", bound="ProcessWorkers")
NO_PROCESSES = "no worker process can be started, so threads make the same elements: {}"


class OutsideWorkers:
    """Provider of workers that see other memory: processes of ours, or those of an executor.

    `note` is called with events, by any thread, and `note_once` with what the run goes on without. What workers hold
    counts in the budget.
    """

    def __init__(
        self,
        kept: KeptWorkers,
        budget: Budget,
        note: Callable[[RunEvent], None],
        note_once: Callable[[str], None],
    ) -> None:
        self.in_processes: list[ProcessWorkers] = []
        """The workers of stages whose tasks processes of ours make."""
        self.executor: ReplaceableExecutor | None = None
        self._kept, self._budget = kept, budget
        self._note, self._note_once = note, note_once
        self._pool: ProcessPool | None = None  # of the processes
        self._remote: list[RemoteWorkers] = []
        self._held_by_pools: list[dict[int, int]] = []

    def processes_for(self, work: Work, observer: Observer, settings: Settings) -> ProcessWorkers | None:
        """Return workers in processes; `None` if no process can be started here."""
        for each in self.in_processes:
            if each.observer is observer and each.plan.is_of(work, observer):
                return each if self._can_start(each) else None
        plan = self._kept.plan(work, observer)
        if (reason := workers.processes.starting.obstacle()) is not None:
            self._note_once(NO_PROCESSES.format(reason))
            return None
        kind, count = workers.processes.workers.ProcessWorkers, settings.workers or 1
        made = self._in_pool(kind, plan, observer, count, settings, ends_stuck=settings.ends_stuck)
        self.in_processes.append(made)
        return made if self._can_start(made) else None

    def moved(
        self,
        kind: Callable[..., MovedWorkers],
        work: Work,
        observer: Observer,
        count: int,
        reads: Reads,
        settings: Settings,
    ) -> MovedWorkers:
        """Return processes, of a `kind` that stands for threads, that could make their tasks.

        `reads` is what the functions of the work read.
        """
        plan = self._kept.plan(work, observer, reads)
        return self._in_pool(kind, plan, observer, count, settings, ends_stuck=False)  # as threads

    def _in_pool(
        self,
        kind: Callable[..., W],
        plan: SharedPlan,
        observer: Observer,
        count: int,
        settings: Settings,
        *,
        ends_stuck: bool,
    ) -> W:
        """Return the workers of a plan in a pool of processes, which are started unless they are there.

        The observer is of this run; that of the plan may be of an earlier one.
        """
        threads, cores = settings.native_threads, settings.cores
        setup = workers.processes.starting.PoolSetup(count, threads, settings.given_budget, cores=cores)
        self._pool = pool = self._kept.pool(setup, settings.memory_budget)
        pool.adopt(plan)
        self._budget.elsewhere = pool.crew.held_bytes
        stuck_after, waits = settings.stuck_after, settings.spares_process
        return kind(pool, plan, observer, self._note, stuck_after=stuck_after, ends_stuck=ends_stuck, waits=waits)

    def _can_start(self, found: ProcessWorkers) -> bool:
        """Return whether processes were started, or may be; note what a user should know about them."""
        if found.notice is not None:
            self._note_once(found.notice)
        if found.no_start is not None:
            self._note_once(NO_PROCESSES.format(found.no_start))
        return found.no_start is None

    def remote(
        self, work: Work, threads: int, observer: Observer, settings: Settings, at_close: Callable[[Any], None]
    ) -> RemoteWorkers:
        """Return the workers of the executor, so that a plan travels to them once; `at_close` keeps what ends them."""
        for each in self._remote:
            if each.is_of(work, observer):
                return each
        given = settings.executor
        if self.executor is None:
            self.executor = workers.handed_in.replaceable.ReplaceableExecutor(given, threads, self._note)
            at_close(self.executor.close)
        arena = partial(self._kept.arena, settings.memory_budget, given=settings.budget_is_given)
        sharing = workers.handed_in.sharing.Sharing(work.plan, arena, self._note_once)
        self._held_by_pools.append(sharing.held)
        shares = sharing.expect(given)
        self._budget.elsewhere = partial(workers.handed_in.sharing.held_by_pools, self._held_by_pools)
        plan = self._kept.pickled_plan(work, observer)
        at_close(plan.release)
        plan.cache_bytes = self._budget.cache_limit // (getattr(given, "_max_workers", threads) or 1)
        kind, pack = workers.handed_in.workers.RemoteWorkers, sharing.pack
        made = kind(work, self.executor, observer, plan, pack, is_far=not shares)
        self._remote.append(made)
        return made

    def want(self, count: int) -> None:
        """Continue with this number of processes, if there are some."""
        if self._pool is not None and self.in_processes:
            self._pool.want(self, count)

    @property
    def operations(self) -> list[str]:
        """The operations whose elements these workers make, each the last one of a stage."""
        works = [each.plan.work for each in self.in_processes] + [each.work for each in self._remote]
        return sorted({work.plan.label() for work in works})

    @property
    def starts(self) -> bool:
        """True until the first process has started, if there are to be some."""
        return any(not each.ready and each.no_start is None for each in self.in_processes)

    def after_fork(self) -> None:
        """Leave all workers to the parent, in a forked child."""
        self.executor, self._pool, self._remote, self.in_processes = None, None, [], []

    def close(self) -> None:
        """Want no process any longer; those that nobody wants end with their pool."""
        if self._pool is not None:
            self._pool.let_go(self)

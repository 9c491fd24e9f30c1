"""Run tasks without shared memory, in workers of any executor, which end with the process that made the executor."""

from __future__ import annotations

import gc
import logging
import multiprocessing
import os
import signal
import threading
from contextlib import suppress
from functools import cache
from multiprocessing import connection
from typing import Any, cast

import numpy as np

from penstock.core.budget import UNLIMITED, Budget
from penstock.core.errors import WorkerError
from penstock.engine.tasks.observer import Observer
from penstock.engine.tasks.task import Made, Result, Task
from penstock.engine.tasks.works import Work, bound_caches
from penstock.engine.workers.handed_in.generators import seed_in_worker
from penstock.engine.workers.handed_in.pickled import KEY, MOST_PICKLED, OWNER, OtherHostError, PickledPlan, SentPlan
from penstock.memory.freed import give_back
from penstock.plan.trial import on_trial
from penstock.transport.program_state import ProgramState, in_force
from penstock.transport.raised import Raised, pickled_error

OTHER_HOSTS = "other hosts"
"""The answer of a worker that cannot open the file with the plan."""


class Pickled:
    """A task on its way to an executor that pickles it and its result, since memory does not travel."""

    def __init__(self, plan: PickledPlan, task: Task, executor: Any = None) -> None:
        self.function = run_remotely
        self.processes: dict[int, Any] = {}
        self._plan = plan
        self.args: tuple[Any, ...] = plan.to(executor), task._replace(slot=None)
        if isinstance(processes := getattr(executor, "_processes", None), dict):
            self.processes = cast("dict[int, Any]", processes)
            self.args += (Siblings(executor),)

    def opened(self, answer: Any) -> tuple[Result, Any] | None:
        """Return the result, and the counts of the observer; `None` if the worker could not open the plan."""
        if answer == OTHER_HOSTS:
            self._plan.leave_host()
            return None
        return answer if isinstance(answer, tuple) else (answer, None)


class Siblings:
    """The process ids of the workers of a `ProcessPoolExecutor` at the time when this is pickled."""

    def __init__(self, executor: Any) -> None:
        self._processes: dict[int, Any] = vars(executor)["_processes"]  # without the executor, which would not end

    def __reduce__(self) -> Any:
        return tuple, (list(self._processes or ()),)


class LoadedPlans:
    """The plans that the last tasks were of, without those that no dataset has any longer.

    The caches of all plans together keep what the run of the last task allows.
    """

    def __init__(self) -> None:
        self.budget = Budget(UNLIMITED, given=False, cache_limit=0)
        """The budget of the caches."""
        self.loads = 0
        """The number of plans loaded so far."""
        self._lock = threading.Lock()
        self._plans: dict[bytes, tuple[tuple[Work, Observer], ProgramState]] = {}  # by key, last used last
        self._in_use: dict[bytes, bytes] = {}  # by owner, as told by the last task

    def tidy(self, plan: SentPlan) -> None:
        """Forget plans that are not in use any longer, with their caches, as the task of a plan tells."""
        owner, told = plan.key[:OWNER], plan.in_use
        with self._lock:
            if not told or self._in_use.get(owner) == told:
                return
            self._in_use[owner] = told
            in_use = {told[at : at + KEY] for at in range(0, len(told), KEY)}
            gone = [key for key in self._plans if key[:OWNER] == owner and key not in in_use]
            self._forget(gone)

    def get(self, plan: SentPlan) -> tuple[Work, Observer]:
        """Return a work and its observer, unpickled once in each process, and let modules be as in their program."""
        with self._lock:
            self.budget.cache_limit = plan.cache_bytes
            found = self._plans.pop(plan.key, None)
            if found is None:
                state, kind, node, numbered_from, observer = plan.load()
                bound_caches(node, self.budget)
                found = (kind(node, np.empty, observer, numbered_from), observer), state
                self.loads += 1
            self._plans[plan.key] = found
            self._forget(list(self._plans)[:-MOST_PICKLED])
            in_force.require(found[1])
            return found[0]

    def _forget(self, keys: list[bytes]) -> None:
        if keys:
            for key in keys:
                del self._plans[key]
            gc.collect()
            give_back()


loaded_plans = LoadedPlans()
"""The plans of this process."""


def run_remotely(plan: SentPlan, task: Task, siblings: Any = ()) -> tuple[Made, Any] | Raised | str:
    """Make a task in the worker's process; return its result and the counts of its observer, or `OTHER_HOSTS`.

    An exception is returned, since the executor's own pickling may change it, or break the executor.
    """
    end_with_parent(siblings)
    seed_in_worker(plan)
    try:
        plan.check_versions()
    except WorkerError as error:
        return Raised("failed", pickled_error(error), None)
    loaded_plans.tidy(plan)
    try:
        work, observer = loaded_plans.get(plan)
    except OtherHostError:
        return OTHER_HOSTS
    except Exception as error:  # noqa: BLE001 - of a user's module; the consumer raises it
        return Raised("not loaded", pickled_error(error), None)
    try:
        with on_trial(task.trial, work.plan):
            made = work.make(task)
    except BaseException as error:  # noqa: BLE001 - the consumer raises it
        return Raised("failed", pickled_error(error), observer.drain())
    say_notes()
    return made, observer.drain()


def say_notes() -> None:
    """Log what the caches of this process have to say."""
    for note in loaded_plans.budget.said():
        logging.getLogger("penstock").warning("%s", note)


_siblings: dict[int, int] = {}  # descriptors that mean no other process, by process id


def end_with_parent(siblings: Any = ()) -> None:
    """End this process and its `siblings` as soon as the one that started them is dead, if that is `multiprocessing`.

    A process of a `ProcessPoolExecutor` would wait forever for its next task, also one that never had a task.
    """
    _watch_parent()
    if hasattr(os, "pidfd_open") and multiprocessing.parent_process() is not None:
        for pid in siblings:
            if pid not in _siblings and pid != os.getpid():
                with suppress(OSError):
                    _siblings[pid] = os.pidfd_open(pid)


@cache
def _watch_parent() -> None:
    parent: Any = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_await_end_of, args=[parent], name="penstock-parent", daemon=True).start()


def _await_end_of(parent: Any) -> None:
    with suppress(ProcessLookupError):  # dead already
        # unlike the sentinel, a pipe, no sibling holds a pidfd
        ended = os.pidfd_open(parent.pid) if hasattr(os, "pidfd_open") else parent.sentinel
        connection.wait([ended])
    for sibling in list(_siblings.values()):
        with suppress(OSError):
            signal.pidfd_send_signal(sibling, signal.SIGKILL)
    os._exit(1)

"""The plans that a worker of a handed-in executor has loaded, and their caches."""

from __future__ import annotations

import gc
import threading
from typing import Any

import numpy as np

from penstock.core.budget import UNLIMITED, Budget
from penstock.engine.memory.freed import give_back
from penstock.engine.tasks.observer import Observer
from penstock.engine.tasks.works import Work, bound_caches
from penstock.engine.transport.program_state import ProgramState, in_force
from penstock.engine.workers.pickled import KEY, MOST_PICKLED, OWNER, PickledPlan


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

    def tidy(self, plan: PickledPlan) -> None:
        """Forget plans that are not in use any longer, with their caches, as the task of a plan tells."""
        owner, told = plan.key[:OWNER], plan.in_use
        with self._lock:
            if not told or self._in_use.get(owner) == told:
                return
            self._in_use[owner] = told
            in_use = {told[at : at + KEY] for at in range(0, len(told), KEY)}
            gone = [key for key in self._plans if key[:OWNER] == owner and key not in in_use]
            self._forget(gone)

    def get(self, plan: PickledPlan) -> tuple[Work, Observer]:
        """Return a work and its observer, unpickled once in each process, and let modules be as in their program."""
        with self._lock:
            self.budget.cache_limit = plan.cache_bytes
            found = self._plans.pop(plan.key, None)
            if found is None:
                state, kind, node, numbered_from, observer = plan.load()
                bound_caches(node, self.budget)
                found = (kind(node, fresh, observer, numbered_from), observer), state
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


def fresh(shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
    """Return new memory for an array."""
    return np.empty(shape, dtype)


loaded_plans = LoadedPlans()
"""The plans of this process."""

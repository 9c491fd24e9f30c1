"""The memory and cores that this process may use, by its control groups and not only by the machine."""

from __future__ import annotations

import os
from functools import lru_cache
from time import monotonic
from typing import TYPE_CHECKING

from penstock.engine.memory.cgroups import cores_allowed
from penstock.engine.memory.headroom import available_memory

if TYPE_CHECKING:
    pass

BUDGET_DIVISOR = 4  # a quarter of the available memory may hold what a run makes ahead
CACHE_DIVISOR = 2  # half of it may be kept by caches
LEAST_BUDGET = 64 << 20  # bytes


def default_memory_budget() -> int:
    """Return the bytes that a run may hold, apart from caches, if the options set no budget.

    The number is up to a second old: asking the system takes 0.2 ms, and short epochs follow each other fast.
    """
    return max(_available_at(int(monotonic())) // BUDGET_DIVISOR, LEAST_BUDGET)


def default_cache_limit() -> int:
    """Return the bytes that caches may keep if the options set no budget."""
    return max(_available_at(int(monotonic())) // CACHE_DIVISOR, LEAST_BUDGET)


@lru_cache(maxsize=1)
def _available_at(_second: int) -> int:
    return available_memory()


def available_cores() -> float:
    """Return the number of cores this process is bound to, or fewer if a control group has a quota."""
    bound = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    allowed = cores_allowed()
    return float(bound) if allowed is None else min(float(bound), allowed)

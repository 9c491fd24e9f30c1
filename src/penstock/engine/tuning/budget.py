"""The memory and cores that this process may use, by its control group and not only by the machine."""

from __future__ import annotations

import os
from functools import lru_cache
from time import monotonic

from penstock.engine.memory.headroom import available_memory, cores_of_groups

BUDGET_DIVISOR = 4  # a quarter of the available memory may hold batches made ahead
LEAST_BUDGET = 64 << 20  # bytes


def default_memory_budget() -> int:
    """Return the bytes that batches made ahead may take if the options set no budget.

    The number is up to a second old: asking the system takes 0.1 ms, and short epochs follow each other fast.
    """
    return _budget_at(int(monotonic()))


@lru_cache(maxsize=1)
def _budget_at(_second: int) -> int:
    return max(available_memory() // BUDGET_DIVISOR, LEAST_BUDGET)


def available_cores() -> float:
    """Return the number of cores this process is bound to, or fewer if a control group above it has a quota."""
    bound = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(float(bound), *cores_of_groups(), float(bound))

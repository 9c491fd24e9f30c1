"""The memory and cores that this process may use, by its control groups and not only by the machine."""

from __future__ import annotations

import os
import re
from functools import lru_cache
from time import monotonic

from penstock.core.budget import UNLIMITED
from penstock.memory.cgroups import cores_allowed, memory_left

MEMINFO = "/proc/meminfo"
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


def available_memory() -> int:
    """Return the bytes that this process can still take, by the limits of the machine and of its control groups."""
    machine, groups = _available_kib() << 10, memory_left()
    return machine if groups is None else min(machine, groups)


def most_mapped() -> int:
    """Return the largest size of a file that the limits of this process allow it to make and to map."""
    try:
        import resource
    except ImportError:  # not on this system
        return UNLIMITED
    address_space, file_size = (resource.getrlimit(each)[0] for each in (resource.RLIMIT_AS, resource.RLIMIT_FSIZE))
    shares = [address_space // 4 if address_space != resource.RLIM_INFINITY else UNLIMITED, file_size]
    return min(share if share != resource.RLIM_INFINITY else UNLIMITED for share in shares)


def _available_kib() -> int:
    """Return the available memory of the system in KiB; 4 GiB if the system does not say."""
    try:
        with open(MEMINFO, encoding="utf-8") as file:
            found = re.search(r"^MemAvailable: *(\d+)", file.read(), re.MULTILINE)
    except OSError:
        found = None
    return int(found[1]) if found else 4 << 20

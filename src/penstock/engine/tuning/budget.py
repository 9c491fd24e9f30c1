"""The memory and cores that this process may use, by its control group and not only by the machine."""

from __future__ import annotations

import os
import re
from functools import lru_cache
from time import monotonic

BUDGET_DIVISOR = 4  # a quarter of the available memory may hold batches made ahead
LEAST_BUDGET = 64 << 20  # bytes
CGROUP = "/sys/fs/cgroup"


def default_memory_budget() -> int:
    """Return the bytes that batches made ahead may take if the options set no budget.

    The number is up to a second old: asking the system takes 0.1 ms, and short epochs follow each other fast.
    """
    return _budget_at(int(monotonic()))


@lru_cache(maxsize=1)
def _budget_at(_second: int) -> int:
    return max(available_memory() // BUDGET_DIVISOR, LEAST_BUDGET)


def available_memory() -> int:
    """Return the bytes that this process can still take, by the limits of the machine and of its control group."""
    machine = _available_kib() << 10
    limit, used = _number(f"{CGROUP}/memory.max"), _number(f"{CGROUP}/memory.current")
    return machine if limit is None or used is None else max(min(machine, limit - used), 0)


def available_cores() -> float:
    """Return the number of cores this process is bound to, or fewer if its control group has a quota."""
    bound = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        quota, period = _text(f"{CGROUP}/cpu.max").split()
        return bound if quota == "max" else min(float(bound), int(quota) / int(period))
    except (OSError, ValueError):
        return float(bound)


def _available_kib() -> int:
    """Return the available memory of the system in KiB; 4 GiB if the system does not say."""
    try:
        found = re.search(r"^MemAvailable: *(\d+)", _text("/proc/meminfo"), re.MULTILINE)
    except OSError:
        found = None
    return int(found[1]) if found else 4 << 20


def _number(path: str) -> int | None:
    try:
        return int(_text(path))
    except (OSError, ValueError):  # not there, or "max"
        return None


def _text(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read()

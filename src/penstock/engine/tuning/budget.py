"""How much memory and how many cores this process may use: what the control group grants, not what the machine has."""

from __future__ import annotations

import os
import re
from functools import lru_cache
from time import monotonic

SHARE = 4  # a quarter of what is available may hold batches made ahead
LEAST = 64 << 20
CGROUP = "/sys/fs/cgroup"


def default_memory_budget() -> int:
    """Bytes that batches made ahead may take unless the options say otherwise; as they were up to a second ago.

    To ask the system takes 0.1 ms, and short epochs follow each other fast.
    """
    return _budget_at(int(monotonic()))


@lru_cache(maxsize=1)
def _budget_at(_second: int) -> int:
    return max(available_memory() // SHARE, LEAST)


def available_memory() -> int:
    """Bytes this process can still take: the least of the machine's and the control group's."""
    machine = _available_kib() << 10
    limit, used = _number(f"{CGROUP}/memory.max"), _number(f"{CGROUP}/memory.current")
    return machine if limit is None or used is None else max(min(machine, limit - used), 0)


def available_cores() -> float:
    """Cores this process may use: those it is bound to, or fewer where the control group has a quota."""
    bound = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        quota, period = _text(f"{CGROUP}/cpu.max").split()
        return bound if quota == "max" else min(float(bound), int(quota) / int(period))
    except (OSError, ValueError):
        return float(bound)


def _available_kib() -> int:
    """What the system says is available, in KiB; 4 GiB where it does not tell."""
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

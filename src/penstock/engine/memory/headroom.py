"""The memory that is left to this process, and the largest file that it may map."""

from __future__ import annotations

import re

from penstock.core.budget import UNLIMITED
from penstock.engine.memory.cgroups import memory_left

MEMINFO = "/proc/meminfo"


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

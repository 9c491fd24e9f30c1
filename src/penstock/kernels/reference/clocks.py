"""The clocks of the calling thread, one by one."""

from __future__ import annotations

import resource
from time import perf_counter_ns, thread_time_ns


def thread_times() -> tuple[int, int, int, int, int]:
    """Return the time, and the calling thread's CPU time, time in the run queue, waits, and reads."""
    whose = getattr(resource, "RUSAGE_THREAD", resource.RUSAGE_SELF)  # Linux reports threads
    usage = resource.getrusage(whose)
    return perf_counter_ns(), thread_time_ns(), _starved(), usage.ru_nvcsw, usage.ru_inblock


def _starved() -> int:
    try:
        with open("/proc/thread-self/schedstat", "rb", buffering=0) as file:
            return int(file.read().split()[1])
    except (OSError, IndexError, ValueError):
        return 0

"""The clocks of the calling thread, one by one."""

from __future__ import annotations

import resource
from time import perf_counter_ns, sleep, thread_time_ns


def thread_times() -> tuple[int, int, int, int, int]:
    """Return the time, and the calling thread's CPU time, time in the run queue, waits, and reads."""
    whose = getattr(resource, "RUSAGE_THREAD", resource.RUSAGE_SELF)  # Linux reports threads
    usage = resource.getrusage(whose)
    return perf_counter_ns(), thread_time_ns(), _starved(), usage.ru_nvcsw, usage.ru_inblock


def wait_for_gil() -> int:
    """Offer the GIL to other threads, and return the ns until this thread has it back, with the offer itself."""
    began = thread_times()
    sleep(30e-6)
    ended = thread_times()
    wall, cpu, starved = (ended[at] - began[at] for at in range(3))
    return max(wall - cpu - starved, 0)


def _starved() -> int:
    try:
        with open("/proc/thread-self/schedstat", "rb", buffering=0) as file:
            return int(file.read().split()[1])
    except (OSError, IndexError, ValueError):
        return 0

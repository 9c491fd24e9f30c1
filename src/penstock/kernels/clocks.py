"""The wall and CPU time of threads; `reference.clocks` is the twin."""

from __future__ import annotations

import resource

from penstock.kernels import _native

thread_times = _native.thread_times
"""Return the time, and the calling thread's CPU time, time in the run queue, number of waits, and reads.

The first is that of `time.perf_counter_ns`, the third is 0 if the system does not report it; times are in ns. Reads are
blocks of 512 bytes read from a disk, including those read ahead.
"""

wait_for_gil = _native.wait_for_gil
"""Offer the GIL to other threads for some 50 µs, and return the ns that the calling thread then waited to get it back.

Time in which the thread had the GIL but no core does not count.
"""


def process_reads() -> int:
    """Return the number of blocks of 512 bytes that all threads of this process have read from a disk.

    >>> process_reads() <= process_reads()
    True
    """
    return resource.getrusage(resource.RUSAGE_SELF).ru_inblock

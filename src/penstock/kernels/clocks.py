"""What a thread has taken of the clock and of the cores; `reference.clocks` is the twin."""

from __future__ import annotations

import resource

from penstock.kernels import _native


def thread_times() -> tuple[int, int, int, int, int]:
    """The time, and since the calling thread began its CPU time, its time in the run queue, how often it waited, reads.

    The first is that of `time.perf_counter_ns`, the third is 0 where the system does not tell; these are in ns. Reads
    are blocks of 512 bytes that had to come from a disk, also those that it asked for ahead of time.

    >>> before, after = thread_times(), thread_times()
    >>> all(one <= other for one, other in zip(before, after))
    True
    """
    return _native.thread_times()


def process_reads() -> int:
    """The blocks of 512 bytes that this process has had read from a disk, by any of its threads.

    >>> process_reads() <= process_reads()
    True
    """
    return resource.getrusage(resource.RUSAGE_SELF).ru_inblock

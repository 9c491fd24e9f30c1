"""The most memory that some work takes, by `tracemalloc`: one for the whole process, so one measures at a time.

Not for work that begins native threads: those that ask for memory while tracing stops end the process (gh-128679). It
is for a process that traces from its beginning to its end.
"""

from __future__ import annotations

import threading
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager

MEASURING = threading.RLock()


class Allocated:
    """The peak of allocated bytes above the level before; set once the block ends."""

    most = 0


@contextmanager
def allocated() -> Iterator[Allocated]:
    """Measure what any thread allocates within the block; tracing started elsewhere continues afterwards."""
    with MEASURING:
        is_ours = not tracemalloc.is_tracing()
        if is_ours:
            tracemalloc.start()
        try:
            tracemalloc.reset_peak()
            before, found = tracemalloc.get_traced_memory()[0], Allocated()
            yield found
            if not tracemalloc.is_tracing():
                raise RuntimeError("tracing was stopped meanwhile, so nothing is known; stop only what you began")
            found.most = tracemalloc.get_traced_memory()[1] - before
        finally:
            if is_ours:
                tracemalloc.stop()

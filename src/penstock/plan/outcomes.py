"""Elements that failed or were examined, counted by thread, as clocks count time: observers read the difference."""

from __future__ import annotations

import threading


class Outcomes(threading.local):
    """Counts of one thread: elements that `failed` in an operation, and those that a selecting flow `examined`."""

    failed = 0
    examined = 0


outcomes_here = Outcomes()
"""The counts of the calling thread."""

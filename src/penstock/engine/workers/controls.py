"""Changes of a run under way that another thread asks for: a pause, the threads, the memory for work ahead."""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import perf_counter_ns
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from penstock.engine.tuning.tuner import Tuner

T = TypeVar("T")


class Controls:
    """Requests to change a run under way. The consumer's thread obeys them before it takes the next items.

    While the run is paused, the consumer waits, threads begin no task, and nothing is made ahead; tasks in hand, and
    those that other processes have been given, are finished. The items and their order stay the same.
    """

    def __init__(self) -> None:
        self.asked = False
        """True if there are requests to obey."""
        self.workers: int | None = None
        """The number of threads that was asked for, if any."""
        self.waits_since = 0
        """The time (ns) since which the consumer has waited for `resume`; 0 if it does not."""
        self._gate: threading.Event | None = None  # opened by `resume`

    @property
    def paused(self) -> bool:
        """True if no task is to begin."""
        return self._gate is not None

    def pause(self) -> None:
        """Let the consumer wait from now on."""
        if self._gate is None:
            self._gate, self.asked = threading.Event(), True

    def resume(self) -> None:
        """Let the consumer go on."""
        gate, self._gate = self._gate, None
        if gate is not None:
            gate.set()

    def change_workers(self, workers: int) -> None:
        """Ask for a number of threads."""
        self.workers, self.asked = workers, True

    def waited(self) -> int:
        """Wait until the run is not paused; return the ns that took."""
        self.asked = False
        self.waits_since = began = perf_counter_ns()
        try:
            while (gate := self._gate) is not None:
                gate.wait()
        finally:
            self.waits_since = 0
        return perf_counter_ns() - began

    def gated(self, has_room: Callable[[T], bool]) -> Callable[[T], bool]:
        """Return a function that finds room for nothing while the run is paused."""
        return lambda ready: not self.paused and has_room(ready)

    def threads_wanted(self, tuners: list[Tuner]) -> int:
        """Return the number of threads to continue with: what was asked for, else the most that a stage wants.

        One stays for the tasks that a stage has begun before its items are made in the consumer's thread.
        """
        return 0 if self.paused else self.workers or max([1, *(tuner.threads for tuner in tuners)])

    def after_fork(self) -> None:
        """Go on in a forked child, which nobody has asked for anything."""
        self._gate = None

"""Changes of a run under way that another thread asks for: a pause, the threads, the memory for work ahead."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from time import perf_counter_ns
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from penstock.core.budget import Budget
    from penstock.engine.runs.isolated import IsolatedRun
    from penstock.engine.runs.session import Session
    from penstock.engine.runs.settings import Settings
    from penstock.engine.tuning.tuner import Tuner

T = TypeVar("T")
MOST_THREADS = 1024


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


class Changeable(Protocol):
    """A run that can be changed while it is under way, without a change of its items or their order."""

    controls: Controls
    settings: Settings
    budget: Budget
    session: Session
    _elsewhere: IsolatedRun | None

    def pause(self) -> None:
        """Begin no task from now on, and let the consumer wait, until `resume`; any thread may call both."""
        self.controls.pause()
        self.session.look_again()

    def resume(self) -> None:
        """Go on after `pause`."""
        self.controls.resume()
        self.session.look_again()

    def change_workers(self, workers: int) -> str | None:
        """Ask for a number of threads, from the next items on; return why the run cannot have it, if it cannot."""
        executor = self.settings.executor
        if self._elsewhere is not None or self.session.made_elsewhere or executor == "processes":
            return "other processes make the elements"
        if not isinstance(executor, str):
            return "its executor was passed, and has workers of its own"
        if workers > MOST_THREADS:
            return f"{workers:,} threads are more than {MOST_THREADS:,}"
        if executor == "inline":
            return "it is inline, as its options or functions require"
        self.controls.change_workers(workers)
        return None

    def change_budget(self, nbytes: int) -> str | None:
        """Bound the memory of work ahead; return why that cannot be, if it cannot."""
        if self._elsewhere is not None:
            return "another process makes the elements"
        self.budget.change(nbytes)
        return None

    def heed(self) -> int:
        """Do in the consumer's thread what others asked for; return the ns for which the run was paused."""
        took = self.controls.waited()
        workers = self.controls.workers
        if workers is not None and self.settings.workers != workers:
            self.settings = replace(self.settings, workers=workers)
            self.session.settings = self.settings
            for tuner in self.session.tuners:
                tuner.fix(workers)
            self.session.resize()
        return took

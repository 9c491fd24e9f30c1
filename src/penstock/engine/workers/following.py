"""The workers of an executor that come and go: how many a run needs, and how many there are."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from time import perf_counter_ns
from typing import Any, TypeVar

from penstock.engine.tasks.cost import Cost
from penstock.executors.protocol import Elastic

T = TypeVar("T")
LOOKED_EVERY = 1_000_000_000  # ns
HEADROOM = 1.2  # times the workers that the step needs on average: tasks are uneven
MOST_NEEDED = 1 << 20  # workers for a consumer that never stops


class Following:
    """The workers of an executor while a run is under way, looked at once a second.

    Tasks that take W seconds of workers for items with which the consumer then works for S seconds need W / S workers:
    this is what an `Elastic` executor is told. The consumer's step is the time outside of `around`.
    """

    def __init__(
        self,
        executor: Any,
        spent: Cost,
        follow: Callable[[int], None],
        clock: Callable[[], int] = perf_counter_ns,
    ) -> None:
        """Call `follow` with the number of workers that there are; `spent` is the cost of all tasks so far."""
        self._executor = executor
        self._tasks = spent
        self._follow = follow
        self._clock = clock
        self._stepped = 0  # ns since the last look
        self._spent = spent.wall  # ns, at the last look
        self._handed_out = 0
        self._due = 0
        self._lock = threading.RLock()  # garbage collection may close the session in a thread that holds it
        self._is_over = False

    def around(self, items: Callable[[], T]) -> T:
        """Return the result of a request for items, before which the consumer has used those of the last."""
        asked = self._clock()
        if self._handed_out:
            self._stepped += asked - self._handed_out
        if asked >= self._due:  # before items are taken, which an error would lose
            self._due = asked + LOOKED_EVERY
            self._look()
        made = items()
        self._handed_out = self._clock()
        return made

    def _look(self) -> None:
        workers: int = self._executor.workers
        worked = self._tasks.wall - self._spent
        if isinstance(self._executor, Elastic) and worked and self._stepped:
            with self._lock:
                if not self._is_over:  # else any thread has closed the session meanwhile, and told that
                    self._executor.scale(self, min(math.ceil(HEADROOM * worked / self._stepped), MOST_NEEDED))
            self._spent, self._stepped = self._tasks.wall, 0
        self._follow(workers)

    def end(self) -> None:
        """Tell the executor that the run needs no workers any longer; called by any thread."""
        with self._lock:
            self._is_over = True
            if isinstance(self._executor, Elastic):
                self._executor.scale(self, 0)

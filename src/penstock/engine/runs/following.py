"""The workers of an executor that come and go: how many a run needs, and how many there are."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, TypeVar

from penstock.executors.protocol import Elastic

if TYPE_CHECKING:
    from penstock.engine.runs.session import Session

T = TypeVar("T")
LOOKED_EVERY = 1_000_000_000  # ns
HEADROOM = 1.2  # times the workers that the step needs on average: tasks are uneven
MOST_NEEDED = 1 << 20  # workers for a consumer that never stops


class Following:
    """The workers of an executor while a run is under way, looked at once a second.

    Tasks that take W seconds of workers for items with which the consumer then works for S seconds need W / S workers:
    this is what an `Elastic` executor is told. The consumer's step is the time outside of `around`.
    """

    def __init__(self, session: Session, executor: Any, clock: Callable[[], int] = perf_counter_ns) -> None:
        self._session = session
        self._executor = executor
        self._clock = clock
        self._stepped = 0  # ns since the last look
        self._spent = session.spent.wall  # ns, at the last look
        self._handed_out = 0
        self._due = 0
        self._lock = threading.RLock()  # garbage collection may close the session in a thread that holds it
        self._is_over = False
        session.at_close(self._end)

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
        worked = self._session.spent.wall - self._spent
        if isinstance(self._executor, Elastic) and worked and self._stepped:
            with self._lock:
                if not self._is_over:  # else any thread has closed the session meanwhile, and told that
                    self._executor.scale(self, min(math.ceil(HEADROOM * worked / self._stepped), MOST_NEEDED))
            self._spent, self._stepped = self._session.spent.wall, 0
        self._session.follow(workers)
        for tuner in self._session.tuners:
            if tuner.workers != workers:
                tuner.fix(workers, "as many as the executor has now")

    def _end(self) -> None:
        with self._lock:
            self._is_over = True
            if isinstance(self._executor, Elastic):
                self._executor.scale(self, 0)

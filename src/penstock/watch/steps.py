"""The consumer's side of a run: the waits before it was under way, and the CPU time of the consumer's steps."""

from __future__ import annotations

import threading
from time import process_time_ns, thread_time_ns
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from penstock.engine.runs.run import Run

EARLY = 16  # requests for items among which workers may begin, and after which only few steps are measured
MEASURED = 13  # one later step in this many is; a prime number, so that periodic work is seen


class StepTimes(NamedTuple):
    """Times of a consumer in ns.

    `warm_up` is the part of its waits in which the run began and its workers started, `cpu` the CPU time of its
    process, and `step_share` the share of its steps in which it used a core.
    """

    warm_up: int = 0
    cpu: int = 0
    step_share: float = 0.0


NOT_BEGUN = StepTimes()


class StepClock:
    """Measures a consumer that asks for items and uses them.

    The CPU time of a thread is expensive to read, and so is a call after a long task. So after the first steps only
    some are measured, and the consumer calls `asked` and `handed_out` for those alone.
    """

    def __init__(self) -> None:
        self.measures = True
        """True before the first request, and while a step is measured whose end `asked` is to note."""
        self.left = 0
        """The requests, of which the consumer takes off one each time, until one is for `handed_out` to note."""
        self._noted = 0  # requests
        self._began = self._ended = 0  # CPU time of the process
        self._warm_up = 0
        self._mode = ""  # where items are made
        self._starting = False
        self._since: tuple[int, int, int] | None = None  # thread, time and CPU time at which a measured step began
        self._steps = self._steps_cpu = 0

    def asked(self, now: int) -> None:
        """Note that the consumer asks for items: its step is over."""
        since, self._since, self.measures = self._since, None, False
        if since is not None and since[0] == threading.get_ident():
            self._steps += now - since[1]
            self._steps_cpu += thread_time_ns() - since[2]
        elif not self._noted:
            self._began = process_time_ns()

    def handed_out(self, asked: int, now: int, run: Run) -> None:
        """Note that the consumer has what it asked for, or that the run is over: its step begins."""
        if run.ended is not None:
            self.stop()
            return
        if self._noted < EARLY or self._starting:
            mode, self._starting = run.session.mode, run.session.waits_for_processes
            if mode != self._mode or self._starting:
                self._warm_up += now - asked
            self._mode = mode
        self._noted += 1
        self.left = 1 if self._noted < EARLY or self._starting else MEASURED
        self._since, self.measures = (threading.get_ident(), now, thread_time_ns()), True

    def skip(self) -> None:
        """Measure nothing of the step under way, in which the run was paused."""
        self._since, self.measures = None, False

    def stop(self) -> None:
        """Note that the run is over."""
        self._since, self.measures = None, False
        self._ended = self._ended or process_time_ns()

    def times(self) -> StepTimes:
        """Return the times so far."""
        if not self._noted:
            return NOT_BEGUN
        share = min(self._steps_cpu / self._steps, 1.0) if self._steps else 0.0
        return StepTimes(self._warm_up, (self._ended or process_time_ns()) - self._began, share)

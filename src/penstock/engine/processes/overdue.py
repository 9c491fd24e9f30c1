"""The time that a worker takes for one task: too long, and its Python stack is reported, or the worker is ended."""

from __future__ import annotations

import math
import signal
from collections.abc import Callable

from penstock.engine.processes.output import Output
from penstock.engine.processes.ticket import Ticket

STACK_WITHIN = 0.25  # seconds that a worker has to write its stack
SOONEST = 0.05  # seconds until the next look


class Overdue:
    """The task in hand of one worker; `due` is the time of the next look at it, as `monotonic()` counts.

    A task that takes `stuck_after` is reported, and again after twice the time. If the user has set that option, the
    worker is ended once the task has taken that long for each of its elements: then one of them alone takes longer.
    """

    def __init__(self, name: str, send: Callable[[signal.Signals], None], errors: Output) -> None:
        """Watch the worker `name`: `send` sends it a signal, and `errors` is its standard error."""
        self.due = math.inf
        self.ended = False
        """True once the worker was ended for its task."""
        self._name = name
        self._send = send
        self._errors = errors
        self._ticket: Ticket | None = None
        self._since = 0.0
        self._told_at = math.inf  # seconds of the task, after which it is reported
        self._asked: int | None = None  # bytes of standard error before the stack that was asked for

    def begin(self, ticket: Ticket | None, now: float) -> None:
        """Watch another task, which the worker begins now; none if it has nothing to do."""
        self._ticket, self._since, self._asked = ticket, now, None
        self._told_at = math.inf if ticket is None else ticket.client.stuck_after
        self.due = now + self._told_at

    def look(self, now: float) -> None:
        """Ask the worker for its stack if its task takes long; then report it, or end the worker."""
        ticket, taken = self._ticket, now - self._since
        if ticket is None or self.ended:
            self.due = math.inf
            return
        left = ticket.seconds_left(taken)
        if self._asked is None and (left <= 0 or taken >= self._told_at):
            self._asked, self.due = self._errors.count, now + STACK_WITHIN
            self._send(signal.SIGUSR1)
            return
        if self._asked is not None:
            self.ended = left <= 0
            self._report(ticket, taken)
            self._asked, self._told_at = None, 2 * taken
        if self.ended:
            self._send(signal.SIGKILL)
        self.due = now + max(min(left, self._told_at - taken), SOONEST)

    def _report(self, ticket: Ticket, taken: float) -> None:
        stack = self._errors.text_after(self._asked or 0)
        end = "; it is ended now, and another worker makes them again" if self.ended else ""
        end += "" if stack else "; it does not write its stack"
        ticket.client.note("stuck", ticket.task, f"{self._name} has taken {taken:.0f} s for {ticket.what}{end}", stack)

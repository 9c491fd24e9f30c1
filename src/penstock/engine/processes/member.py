"""One worker process, as its parent knows it."""

from __future__ import annotations

import os
import signal
from collections import deque
from contextlib import suppress

from penstock.engine.processes.output import Output
from penstock.engine.processes.starting import Started
from penstock.engine.processes.ticket import Ticket
from penstock.engine.transport.channel import Channel

TASKS_AHEAD = 2  # tasks of a worker: one that it makes and one that waits, so that no time passes between them
BY_OTHERS = (signal.SIGKILL, signal.SIGTERM)  # signals that do not come from the code that a worker runs


class Member:
    """A worker process with the tasks that were sent to it, the oldest of which it is making."""

    def __init__(self, number: int, started: Started) -> None:
        self.number = number
        self.pid = started.process.pid
        self.pidfd = started.pidfd
        self.ready = False
        self.resident = 0  # bytes, after its last task
        self.held = 0  # bytes, beside its tasks
        self.tickets: deque[Ticket] = deque()
        self.channel = Channel(started.channel, waits=False)
        process = started.process
        if process.stdout is None or process.stderr is None:
            raise RuntimeError("a worker was started without pipes")
        self.outputs = (Output(process.stdout, "stdout", number), Output(process.stderr, "stderr", number))
        self._process = process
        self._plans: set[int] = set()

    @property
    def has_place(self) -> bool:
        """True if the worker may be sent another task."""
        return self.ready and len(self.tickets) < TASKS_AHEAD

    def give(self, ticket: Ticket) -> bool:
        """Send a task, after its plan if the worker does not have that; return whether all of it has gone out."""
        self.tickets.append(ticket)
        plan = ticket.client.plan
        with suppress(OSError):  # the worker has died, which its descriptor tells too
            if plan.number not in self._plans:
                self._plans.add(plan.number)
                plan.send(self.channel)
            return self.channel.send(ticket.head, ticket.tail)
        return True

    def forget(self, plan: int) -> None:
        """Let the worker forget a plan."""
        if plan in self._plans:
            self._plans.remove(plan)
            with suppress(OSError):
                self.channel.send(("forget", plan))

    def reaped(self) -> int | None:
        """Return the exit code once the process has ended, else `None`; 0 if other code has waited for the process."""
        return self._process.poll()

    def kill(self) -> None:
        """End the process."""
        with suppress(OSError):
            signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)

    def close(self) -> None:
        """Close every descriptor; the process, if it still runs, sees the end of its channel."""
        self.channel.close()
        for output in self.outputs:
            output.close()
        os.close(self.pidfd)

    def abandon(self) -> None:
        """Close every descriptor in a forked child, where the process is not a child."""
        self._process.returncode = 0
        self.close()

    @property
    def last_words(self) -> str:
        """The end of what the worker wrote to standard error."""
        return self.outputs[1].last.decode(errors="replace").strip()


def told_code(code: int) -> str:
    """Return an exit code in words.

    >>> told_code(-9), told_code(3)
    ('SIGKILL', 'exit code 3')
    """
    try:
        return signal.Signals(-code).name if code < 0 else f"exit code {code}"
    except ValueError:
        return f"signal {-code}"

"""One worker process, as its parent knows it."""

from __future__ import annotations

import os
import signal
from collections import deque
from contextlib import suppress
from time import monotonic
from typing import Any
from weakref import WeakSet

from penstock.engine.processes.line import RunLine
from penstock.engine.processes.output import Output
from penstock.engine.processes.overdue import Overdue
from penstock.engine.processes.plans import SharedPlan
from penstock.engine.processes.starting import Started
from penstock.engine.processes.ticket import Ticket
from penstock.engine.transport.channel import Channel

TASKS_AHEAD = 2  # tasks of a worker: one that it makes and one that waits, so that no time passes between them


class Member:
    """A worker process with the tasks that were sent to it, the oldest of which it is making."""

    def __init__(self, number: int, started: Started) -> None:
        self.number = number
        self.pid = started.process.pid
        self.pidfd = started.pidfd
        self.ready = False
        self.leaves = False
        """True if the worker is to end, and takes no further task."""
        self.resident = 0  # bytes, after its last task
        self.held = 0  # bytes, beside its tasks
        self.tickets: deque[Ticket] = deque()
        self.lines: WeakSet[RunLine] = WeakSet()
        """The lines of the runs that the worker makes."""
        self.channel = Channel(started.channel, waits=False)
        process = started.process
        if process.stdout is None or process.stderr is None:
            raise RuntimeError("a worker was started without pipes")
        self.outputs = (Output(process.stdout, "stdout", number), Output(process.stderr, "stderr", number))
        self.overdue = Overdue(self.name, self.signal, self.outputs[1])
        self._process = process
        self._plans: set[int] = set()  # that were sent
        self._loaded: set[int] = set()

    @property
    def name(self) -> str:
        """The worker in words."""
        return f"worker {self.number} (process {self.pid})"

    def has_place(self, *, ahead: bool = True) -> bool:
        """Return whether the worker may be sent another task, to make at once or perhaps `ahead` of that."""
        return self.ready and not self.leaves and len(self.tickets) < (TASKS_AHEAD if ahead else 1)

    def leave(self) -> None:
        """Let the worker end once it has no task."""
        self.leaves = True
        if not self.tickets:
            self.channel.end()

    @property
    def is_making(self) -> bool:
        """True if the worker has a task and the plan of that is loaded."""
        return bool(self.tickets) and self.tickets[0].client.plan.number in self._loaded

    def give(self, ticket: Ticket) -> bool:
        """Send a task, after its plan if the worker does not have that; return whether all of it has gone out."""
        self.tickets.append(ticket)
        if len(self.tickets) == 1:
            self._begin()
        return self._send(ticket.client.plan, ticket.head, ticket.tail)

    def open(self, line: RunLine) -> bool:
        """Hand a line to the worker, after its plan; return whether all of it has gone out."""
        self.lines.add(line)
        return self._send(line.plan, line.head, b"", line.descriptor) and self.sent()

    def sent(self) -> bool:
        """Close the ends of lines that the worker has now; return true."""
        for line in list(self.lines):
            line.given()
        return True

    def _send(self, plan: SharedPlan, head: Any, tail: bytes | bytearray, descriptor: int = -1) -> bool:
        with suppress(OSError):  # the worker has died, which its descriptor tells too
            if plan.number not in self._plans:
                self._plans.add(plan.number)
                plan.send(self.channel)
            return self.channel.send(head, tail, descriptor)
        return True

    def done(self) -> Ticket:
        """Take out the task that the worker has made, and return it; the worker begins the next one."""
        ticket = self.tickets.popleft()
        self._begin()
        return ticket

    def loaded(self, plan: int) -> None:
        """Learn that the worker has loaded a plan, and now begins its oldest task."""
        self._loaded.add(plan)
        self._begin()

    def _begin(self) -> None:
        """Watch the oldest task, from now on; the time to load its plan does not count."""
        self.overdue.begin(self.tickets[0] if self.is_making else None, monotonic())

    def forget(self, plan: int) -> None:
        """Let the worker forget a plan."""
        if plan in self._plans:
            self._plans.remove(plan)
            self._loaded.discard(plan)
            with suppress(OSError):
                self.channel.send(("forget", plan))

    def reaped(self) -> int | None:
        """Return the exit code once the process has ended, else `None`; 0 if other code has waited for the process."""
        return self._process.poll()

    def signal(self, number: signal.Signals) -> None:
        """Send the process a signal, unless it has ended."""
        with suppress(OSError):
            signal.pidfd_send_signal(self.pidfd, number)

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

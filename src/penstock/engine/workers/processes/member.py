"""One worker process, as its parent knows it: its tasks, the time that they take, and its output."""

from __future__ import annotations

import logging
import math
import os
import pickle
import signal
import socket
import sys
import warnings
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from time import monotonic
from typing import IO, Any
from weakref import WeakSet

from penstock.core.frames import shown_in
from penstock.engine.workers.processes.plans import SharedPlan
from penstock.engine.workers.processes.starting import Started
from penstock.engine.workers.processes.ticket import Ticket
from penstock.transport.channel import Channel, Message

TASKS_AHEAD = 2  # tasks of a worker: one that it makes and one that waits, so that no time passes between them
STACK_WITHIN = 0.25  # seconds that a worker has to write its stack
SOONEST = 0.05  # seconds until the next look
LONGEST_LINE = 1 << 16  # bytes of output that may wait for the end of their line
KEPT = 1 << 14  # bytes of standard error that are kept to explain the end of a worker


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


class Output:
    """The standard output or standard error of one worker: whole lines are written to that of this process."""

    def __init__(self, pipe: IO[bytes], stream: str, worker: int) -> None:
        os.set_blocking(pipe.fileno(), False)
        self._pipe = pipe
        self._stream = stream
        self._worker = worker
        self._line = b""
        self.last = b""
        """The last bytes that came."""
        self.count = 0
        """The number of bytes that came."""

    def fileno(self) -> int:
        return self._pipe.fileno()

    def forward(self) -> bool:
        """Write the lines that are there; return whether more may come."""
        while True:
            try:
                data = os.read(self._pipe.fileno(), LONGEST_LINE)
            except BlockingIOError:
                return True
            self.last = (self.last + data)[-KEPT:]
            self.count += len(data)
            *lines, self._line = (self._line + data).split(b"\n")
            if len(self._line) > LONGEST_LINE or (self._line and not data):
                lines, self._line = [*lines, self._line], b""
            if lines:
                text = "".join(f"{labelled(line.decode(errors='replace'), self._worker)}\n" for line in lines)
                with suppress(Exception):  # closed, or full: output must not end the pipeline
                    stream = getattr(sys, self._stream)
                    stream.write(text)
                    stream.flush()
            if not data:
                return False

    def text_after(self, count: int) -> str:
        """Return what came after the first `count` bytes, as far as it is kept."""
        return self.last[max(len(self.last) - (self.count - count), 0) :].decode(errors="replace").strip()

    def close(self) -> None:
        """Close the pipe."""
        self._pipe.close()


def labelled(line: str, worker: int) -> str:
    """Return a line with the number of the worker that it comes from; workers of an isolated run have told theirs.

    >>> labelled(labelled("loaded", 2), 1)
    '[worker 2] loaded'
    """
    return line if line.startswith("[worker ") else f"[worker {worker}] {line}"


def log(data: bytes, worker: int) -> None:
    """Hand a log record of a worker to the logger of the same name, if that takes records of its level."""
    with suppress(Exception):  # a value of `extra=` or a handler that fails must not end the pipeline
        told: dict[str, Any] = pickle.loads(data)  # noqa: S301 - from our own process
        record = logging.makeLogRecord({**told, "msg": labelled(told["msg"], worker)})
        logger = logging.getLogger(record.name)
        if logger.isEnabledFor(record.levelno):
            logger.handle(record)


def warn_of(text: str, kind: tuple[str, str], file: str, line: int, module: str) -> None:
    """Warn of what a worker warns of, as if this process did: once for all workers, unless filters say otherwise.

    `kind` is the module of the class of the warning, and its name.
    """
    category = getattr(sys.modules.get(kind[0]), kind[1], None)
    warning = UserWarning(f"{kind[1]}: {text}")
    if isinstance(category, type) and issubclass(category, Warning):
        with suppress(Exception):  # it may be made of other arguments
            warning = category(text)
    try:
        warnings.warn_explicit(warning, type(warning), file, line, module, shown_in(module))
    except Exception:  # noqa: BLE001 - an error by now, which nobody could handle here
        with suppress(Exception):
            warnings.showwarning(warning, type(warning), file, line)


class RunLine:
    """A pair of sockets for one run: the consumer has one end, and the crew hands the other to a worker.

    The consumer's thread itself sends and receives, so no other thread of this process wakes up for an item. The line
    ends if either side closes it, or with the worker; then the crew says why.
    """

    def __init__(self, plan: SharedPlan, order: Any) -> None:
        """Prepare a line for a run of `plan`; `order` says what to make of it."""
        self.plan = plan
        ours, theirs = socket.socketpair()
        self._channel = Channel(ours, waits=True)
        self._messages = self._channel.receive()
        self._theirs = theirs.detach()
        self._order = order
        self._reasons: SimpleQueue[str | BaseException | None] = SimpleQueue()  # may be filled by a finalizer

    @property
    def head(self) -> tuple[Any, ...]:
        """The head of the message to a worker, with which `descriptor` goes."""
        return "run", self.plan.number, self._order, True

    @property
    def descriptor(self) -> int:
        """The other end, -1 once a worker has it."""
        return self._theirs

    def given(self) -> None:
        """Close the other end here, now that a worker has it or none will; only the crew calls this."""
        theirs, self._theirs = self._theirs, -1
        if theirs >= 0:
            os.close(theirs)

    def over(self, why: str | BaseException) -> None:
        """Note that the worker has ended, or that no worker will take the line; called by the crew."""
        self._reasons.put(why)
        self.given()

    def ask(self, request: Any) -> Message | None:
        """Send a request and wait for a message; return `None` at the end of the line."""
        with suppress(OSError):  # closed, but there may be messages from before
            self._channel.send(request)
        return self.receive()

    def receive(self) -> Message | None:
        """Wait for a message; return `None` at the end of the line."""
        try:
            return next(self._messages, None)
        except (EOFError, OSError):
            return None

    def reason(self) -> str | BaseException | None:
        """Wait until it is known why the line has ended: the end of the worker in words, or an error of the crew.

        `None` means that the line was closed here.
        """
        return self._reasons.get()

    def end(self) -> None:
        """Wake the consumer, and let the worker see the end; called by any thread, also during garbage collection."""
        self._channel.end()
        self._reasons.put(None)

    def close(self) -> None:
        """Close the end of the consumer, in a forked child without an effect on the parent's."""
        with suppress(OSError):
            self._channel.close()

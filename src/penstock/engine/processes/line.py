"""The line between the consumer of a run and the process that makes the run."""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from queue import SimpleQueue
from typing import Any

from penstock.engine.processes.plans import SharedPlan
from penstock.engine.transport.channel import Channel, Message


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
        if self._theirs >= 0:
            os.close(self._theirs)
            self._theirs = -1

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

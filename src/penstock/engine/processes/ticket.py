"""A task in the hands of the crew, from its request to its result, however many workers that takes."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any, Protocol

from penstock.engine.memory.arena import Arena
from penstock.engine.processes.plans import SharedPlan, sending
from penstock.engine.tasks.task import Result, Task
from penstock.engine.transport.packets import Packet
from penstock.engine.transport.raised import unpickled_error

_numbers = count()


class Client(Protocol):
    """The workers of a stage, as the crew sees them."""

    plan: SharedPlan

    def note(self, task: Task, words: str) -> None:
        """Take note of the death of a worker that was making a task."""
        ...

    def learn(self, nbytes: int) -> None:
        """Take note of the size of a result that was not in the slot."""
        ...

    def explained(self, error: BaseException, kind: str) -> BaseException:
        """Return the error to raise for one that kept a worker from loading the plan or from sending a result."""
        ...


class Ticket:
    """A task on its way to a worker and back. Its memory is held until a result has come, or the worker is gone."""

    def __init__(
        self, client: Client, task: Task, arena: Arena | None, room: int, done: Callable[[Result, Any], None]
    ) -> None:
        """Prepare the task with `room` bytes for its result; `done(result, counted)` is called once, in any thread."""
        self.number = next(_numbers)
        self.client = client
        self.task = task
        self.deaths = 0  # of workers that were making the task
        self.rounds = 0  # searches for an element of it that ends workers
        self.dropped = False
        self._done = done
        self._sending = sending(task, client.plan.number, arena, room)

    @property
    def head(self) -> tuple[str, int, Any]:
        """The head of the message to a worker."""
        return "task", self.number, self._sending.travelling

    @property
    def tail(self) -> bytearray:
        """The tail of the message."""
        return self._sending.tail

    def cancel(self) -> bool:
        """Drop the task if it was not sent yet; its result is of no use to anybody."""
        self.dropped = True
        return True

    def answer(self, kind: str, result: Any, counted: Any, tail: bytearray) -> list[Ticket]:
        """Pass on what a worker sent, and return the tickets to make next for it."""
        if kind == "made":
            self.client.learn(result.nbytes)
            self.finish(self._made(result, tail), counted)
            return []
        error = unpickled_error(result)
        self.finish(error if kind == "failed" else self.client.explained(error, kind), counted)
        return []

    def finish(self, result: Result, counted: Any = None) -> None:
        """Pass on the result, unless the task was dropped."""
        if not self.dropped:
            self._done(result, counted)

    def _made(self, packet: Packet, tail: bytearray) -> Result:
        try:
            return self._sending.opened(packet, tail)
        except BaseException as error:  # noqa: BLE001 - of a user's class; the consumer raises it
            return self.client.explained(error, "not unpacked")

"""A task in the hands of the crew, from its request to its result, however many workers that takes."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import TYPE_CHECKING, Any

from penstock.engine.tasks.task import Result, Task
from penstock.engine.workers.processes.travel import sending
from penstock.engine.workers.suspects import OFTEN_KILLED, SUSPECT, Death, Suspect
from penstock.memory.arena import Arena
from penstock.transport.packets import Packet
from penstock.transport.raised import unpickled_error

if TYPE_CHECKING:
    from penstock.engine.workers.processes.workers import ProcessWorkers

_numbers = count()


class Ticket:
    """A task on its way to a worker and back. Its memory is held until a result has come, or the worker is gone.

    If two workers end with the task, or others kill several, `task` is one step after another of its `Suspect`.
    """

    def __init__(
        self,
        client: ProcessWorkers,
        task: Task,
        arena: Arena | None,
        done: Callable[[Result, Any], None],
        may_begin: Callable[[], bool] | None = None,
    ) -> None:
        """Prepare the task of a client; `done(result, counted)` is called once, in any thread.

        Under a given budget, no worker gets the task until it `may_begin`, and none before it has made its last one,
        unless the slot says how large the result is.
        """
        self.number = next(_numbers)
        self.client = client
        self.task = task
        self.dropped = False
        self.may_begin = may_begin
        self.waits_alone = may_begin is not None and task.slot is None
        self._done = done
        self._arena = arena
        self._deaths = self._killed = 0  # workers that ended with the task, by their own doing and by others
        self._suspect: Suspect | None = None
        self._sending = sending(task, client.plan.number, arena, client.plan.result_sizes.room)

    @property
    def what(self) -> str:
        """The task in words."""
        task = self.task
        items = f"items {task.low} to {task.high}" if task.part is None else f"a part of item {task.low}"
        return f"{items} of {self.client.plan.work.plan.label()}"

    def seconds_left(self, taken: float) -> float:
        """Return the seconds that the task may still take; none are left if one of its elements takes too long."""
        client, of_one = self.client, None if self._suspect is None else self._suspect.seconds
        return client.most_seconds(self.task) - taken if of_one is None else client.most_seconds(None) - of_one

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
            self.client.plan.result_sizes.add(result.nbytes)
            made = self._made(result, tail)
        else:
            error = unpickled_error(result)
            made = error if kind == "failed" else self.client.explained(error, kind)
        if self._suspect is None:
            self.finish(made, counted)
            return []
        whole = self._suspect.lived(made)
        if whole is None and self._suspect.keeps and counted is not None:
            self.client.observer.absorb(counted)
        return self._next(whole, counted)

    def died(self, death: Death) -> list[Ticket]:
        """Return the tickets to make next, now that a worker has ended with this one.

        The task is made again whole after the first worker, which may have ended for another reason, unless it was
        ended since it was stuck; also after some that others have killed. Afterwards it is made as its `Suspect` says.
        """
        if death.by_others and not death.begun:
            self.client.note("died", self.task, f"{death.how}; it was about to make {self.what}", death.wrote)
            return [self]
        self._deaths += not death.by_others
        self._killed += death.by_others
        is_whole = self._deaths < SUSPECT and self._killed < OFTEN_KILLED and not death.was_stuck
        if self._suspect is not None:
            then = " alone"
        else:
            then = ", which another worker makes again" if is_whole else ", whose elements are now made apart"
        self.client.note("died", self.task, f"{death.how}; it was making {self.what}{then}", death.wrote)
        if self._suspect is not None:
            return self._next(self._suspect.died(death))
        if not is_whole:
            self._suspect = Suspect(self.client.plan.work, self.task)
        return self._next(None)

    def _next(self, whole: Result | None, counted: Any = None) -> list[Ticket]:
        """Finish with the result of the whole task, or return this ticket with what is to be made next.

        That is the task or a step of its suspect, with memory of its own: the worker may have begun to write its result
        over what it was given.
        """
        if whole is None:
            try:
                if self._suspect is not None:
                    self.task = self._suspect.task
                self._sending = sending(
                    self.task, self.client.plan.number, self._arena, self.client.plan.result_sizes.room
                )
            except Exception as error:  # noqa: BLE001 - an element that cannot be pickled; the consumer raises it
                whole = self.client.explained(error, "not packed")
            else:
                return [self]
        self.finish(whole, counted)
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

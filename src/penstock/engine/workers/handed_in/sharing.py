"""The way of tasks to a pool of processes that the user made, whose workers write results into the arena."""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Mapping
from concurrent.futures import Executor, ProcessPoolExecutor
from functools import lru_cache, partial
from typing import Any

from penstock.core.cached import cached_property
from penstock.engine.tasks.task import Result, Task
from penstock.engine.workers.handed_in.call import Sent
from penstock.engine.workers.handed_in.generators import seed_in_worker
from penstock.engine.workers.handed_in.pickled import PickledPlan, SentPlan
from penstock.engine.workers.handed_in.remote import Pickled, Siblings, end_with_parent, loaded_plans, say_notes
from penstock.engine.workers.processes.travel import ResultSizes, Sending, Travelling, answered, sending
from penstock.memory.arena import Arena, Door, door_of, mapped_by
from penstock.memory.freed import KEPT_SHARE, Holding, keep_less
from penstock.plan.node import Node
from penstock.transport.packets import Packet
from penstock.transport.raised import Raised
from penstock.transport.unsent import unsendable

NOT_SHARED = "the pool of processes cannot use the memory that this process shares with it, so batches are pickled: {}"
NO_NUMBER = 0  # of a plan that travels beside its task


class Sharing:
    """The way of the tasks of one plan: by the arena to a `ProcessPoolExecutor`, pickled to any other executor.

    Tasks are pickled, too, once a worker could not open the arena.
    """

    def __init__(
        self, plan: Node, find: Callable[[], tuple[Arena | None, str | None]], note: Callable[[str], None]
    ) -> None:
        """Share the arena that `find()` returns; `note` is told what the user should know."""
        self.plan = plan
        self.sizes = ResultSizes()
        self.held: dict[int, int] = {}
        """The bytes that each worker holds beside its tasks, by process id."""
        self._find = find
        self._note = note
        self._is_refused = False

    def expect(self, executor: Any) -> bool:
        """Find the arena before the first slot is taken; return whether an executor, or one still made, may use it."""
        may_share = isinstance(executor, ProcessPoolExecutor) or not callable(getattr(executor, "submit", None))
        return may_share and self._arena is not None

    def pack(self, plan: PickledPlan, task: Task, executor: Executor) -> Sent:
        """Return a task ready to be sent to an executor."""
        arena = self._arena if isinstance(executor, ProcessPoolExecutor) and not self._is_refused else None
        if arena is None or not isinstance(executor, ProcessPoolExecutor):
            return Pickled(plan, task, executor)
        try:
            made = sending(task, NO_NUMBER, arena, self.sizes.room)
        except Exception as error:
            unsendable(error, self.plan)
            raise
        return Shared(self, plan, made, door_of(arena), executor)

    @cached_property
    def _arena(self) -> Arena | None:
        if not os.path.isdir("/proc/self/fd"):
            self.refuse("this system has no /proc")
            return None
        arena, notice = self._find()
        if notice is not None:
            self._note(notice)
        return arena

    def note_held(self, process: int, nbytes: int, processes: Container[int]) -> None:
        """Note what a worker holds beside its tasks, and forget those that are not among the processes of the pool."""
        held = self.held
        held[process] = nbytes
        for gone in [each for each in list(held) if each not in processes]:
            held.pop(gone, None)

    def refuse(self, reason: str) -> None:
        """Pickle all later tasks, and tell why."""
        self._is_refused = True
        self._note(NOT_SHARED.format(reason))


class Shared:
    """A task on its way to a worker that opens the arena of this process, and the memory that it may write into."""

    def __init__(
        self, sharing: Sharing, plan: PickledPlan, made: Sending, door: Door, executor: ProcessPoolExecutor
    ) -> None:
        self.processes: Mapping[int, Any] = vars(executor)["_processes"]
        self.function = run_sharing
        self.args = plan.to(executor), door, made.travelling, made.tail, Siblings(executor)
        self._sharing = sharing
        self._sending = made

    def opened(self, answer: tuple[Packet, bytearray, Any, tuple[int, int]] | str) -> tuple[Result, Any] | None:
        """Return the result, whose arrays are in the arena, and the counts; `None` if the worker could not open it."""
        if isinstance(answer, str):
            self._sharing.refuse(answer)
            return None
        packet, tail, counted, (process, held) = answer
        self._sharing.note_held(process, held, self.processes)
        self._sharing.sizes.add(packet.nbytes)
        try:
            return self._sending.opened(packet, tail), counted
        except BaseException as error:  # noqa: BLE001 - of a user's class; the consumer raises it
            return unsendable(error, self._sharing.plan), counted


@lru_cache(maxsize=1)
def _holding(most: int) -> Holding:
    """Return what this process holds, with at most `most` bytes of freed memory."""
    keep_less(most)
    return Holding(most)


def run_sharing(
    plan: SentPlan, door: Door, task: Travelling, tail: bytearray, siblings: Any = ()
) -> tuple[Packet, bytearray, Any, tuple[int, int]] | Raised | str:
    """Make a task in the worker's process; return its packed result, the counts of its observer, and what it holds.

    If this process cannot open the arena, return the reason. An exception is returned, since the pool's own pickling
    may change it, or break the pool.
    """
    end_with_parent(siblings)
    seed_in_worker(plan)
    try:
        arena = mapped_by(door)
    except (OSError, ValueError) as error:
        return f"{type(error).__name__}: {error}"
    holding = _holding(door.size // KEPT_SHARE)
    loaded_plans.tidy(plan)
    holding.look(loaded_plans.loads)
    kind, result, counted, rest = answered(partial(loaded_plans.get, plan), task, tail, arena)
    if kind != "made":
        return Raised(kind, result, counted)
    say_notes()
    return result, bytearray() if rest is None else rest.tobytes(), counted, (os.getpid(), holding.nbytes)


def held_by_pools(helds: list[dict[int, int]]) -> int:
    """Return the bytes that the workers of pools that were handed in hold beside their tasks.

    `helds` are those of some plans, without the plans themselves: a cache there refers to the budget that calls this.
    """
    held: dict[int, int] = {}
    for each in list(helds):
        held |= each
    return sum(held.values())

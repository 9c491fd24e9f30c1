"""The time that a task takes, by the clocks of its thread."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, ParamSpec, Self, TypeAlias, TypeVar

from penstock.kernels.clocks import thread_times, wait_for_gil
from penstock.plan.safety.locks import held_here

if TYPE_CHECKING:
    from penstock.engine.tasks.observer import TaskRecorder

P = ParamSpec("P")
T = TypeVar("T")

MS = 1_000_000  # ns
BESIDE_OTHERS = 2  # the cost of a cheap item in one of several threads, in units of its cost inline
WANTED = 0.25  # share of the time for which a thread waits for the GIL that some function holds
FULLY = 16  # tasks measured in full at first, and after each task that read from a disk
EVERY = 13  # afterwards, one task in this many is; a prime number, so that periodic work is seen
SURE = 1.64  # standard deviations; beyond, one estimate in twenty is
LONG_WAIT_FOR_GIL = 200_000  # ns; a thread that only passes by lets others have the GIL sooner


@dataclass(slots=True)
class Cost:
    """Times of a task in ns: wall and CPU time of its thread, and the time that the thread was ready but had no core.

    `alone` is the time in functions that only one thread at a time may call, `queued` the time spent waiting for them.
    `yields` counts how often the thread gave up its core to wait, `reads` the blocks of 512 bytes read from a disk.
    """

    wall: int
    cpu: int
    starved: int = 0
    yields: int = 0
    reads: int = 0
    alone: int = 0
    queued: int = 0

    def __reduce__(self) -> tuple[Any, ...]:  # faster than by name of attribute
        return Cost, (self.wall, self.cpu, self.starved, self.yields, self.reads, self.alone, self.queued)

    @property
    def blocked(self) -> int:
        """The time spent waiting for a disk, a sleep or a lock such as the GIL; not for a core or for a turn."""
        return max(self.wall - self.cpu - self.starved - self.queued, 0)

    def __iadd__(self, other: Cost) -> Self:
        self.wall += other.wall
        self.cpu += other.cpu
        self.starved += other.starved
        self.yields += other.yields
        self.reads += other.reads
        self.alone += other.alone
        self.queued += other.queued
        return self

    def over(self, wall: int) -> Cost:
        """Return the cost of a similar task with another wall time."""
        if wall == self.wall:
            return self
        share = wall / (self.wall or 1)
        return Cost(
            wall,
            int(share * self.cpu),
            int(share * self.starved),
            round(share * self.yields),
            int(share * self.reads),
            int(share * self.alone),
            int(share * self.queued),
        )


Took: TypeAlias = tuple[int, Cost]
"""The wall time of a task in ns, and the cost of the task measured in full that represents it (perhaps itself)."""


class Contention:
    """The threads that want the GIL at the same time, seen by workers that offer it now and then."""

    def __init__(self) -> None:
        self.looks = 0
        self.share = 0.0
        """The share of the time for which a thread that wants the GIL waits for another, if not more.

        The lower end of Wilson's interval for the share: a few waits on a busy machine do not make it large.
        """
        self._waits = 0

    def look(self) -> None:
        """Offer the GIL, and note whether another thread kept it for long. Counts may be lost between threads."""
        self._waits += wait_for_gil() > LONG_WAIT_FOR_GIL
        self.looks = looks = self.looks + 1
        seen, z = self._waits / looks, SURE
        spread = z * math.sqrt(seen * (1 - seen) / looks + (z / (2 * looks)) ** 2)
        self.share = max((seen + z**2 / (2 * looks) - spread) / (1 + z**2 / looks), 0.0)


class Meter:
    """A meter for tasks of one kind, in any thread.

    Reading a thread's account takes several system calls, which are expensive after a task that has waited. So most
    tasks are measured by wall time only, and the last task measured in full represents them. While tasks read from a
    disk, all of them are measured in full. With `contention`, those that threads make look for others at the GIL. A
    `recorder` of the tasks looks at those measured in full whether it is time to record again.
    """

    def __init__(self, recorder: TaskRecorder | None = None) -> None:
        self.contention: Contention | None = None
        self.recorder = recorder
        self._tasks = 0  # threads may lose a count
        self._fully = FULLY  # the first task that need not be measured in full
        self._last = Cost(0, 0)

    def measure(self, make: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> tuple[T, Took, int]:
        """Return the result of `make`, the time it took, and when it began (ns, as `perf_counter_ns` counts)."""
        task = self._tasks
        self._tasks = task + 1
        if task < self._fully or task % EVERY == 0:
            return self._measure_fully(task, partial(make, *args, **kwargs))
        began = perf_counter_ns()
        made = make(*args, **kwargs)
        return made, (perf_counter_ns() - began, self._last), began

    def _measure_fully(self, task: int, make: Callable[[], T]) -> tuple[T, Took, int]:
        if self.recorder is not None:
            self.recorder.look(1 if task < self._fully else EVERY)
        if self.contention is not None and (task < FULLY or task % EVERY == 0):
            self.contention.look()
        held = held_here()
        before = thread_times()
        made = make()
        wall, cpu, starved, *counts = (after - earlier for after, earlier in zip(thread_times(), before, strict=True))
        turns = (after - earlier for after, earlier in zip(held_here(), held, strict=True))
        # the clocks are read one by one: a core lost in between would be missing in a longer time than passed
        cost = Cost(wall, cpu, min(starved, max(wall - cpu, 0)), *counts, *turns)
        self._last = cost
        if cost.reads:
            self._fully = task + 1 + FULLY
        return made, (cost.wall, cost), before[0]

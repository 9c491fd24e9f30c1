"""One task: a program called on one run of rows, in one worker, and what it cost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import count
from time import perf_counter_ns
from typing import Any, ParamSpec, Self, TypeAlias, TypeVar

import numpy as np

from penstock.core.arrays import Allocate, Rows
from penstock.elements.chunks.gathering import stack_all
from penstock.elements.chunks.sharing import travelling
from penstock.elements.chunks.stacking import Stack
from penstock.elements.nested.structure import Structure
from penstock.kernels.clocks import thread_times
from penstock.plan.flow import Piece, Spread
from penstock.plan.safety.guard import held_here
from penstock.plan.types import Program

P = ParamSpec("P")
T = TypeVar("T")

FULLY = 16  # tasks that are measured in full at first, and after each that read from a disk
EVERY = 13  # of so many one is then; a prime number, so that what comes round at intervals is seen


@dataclass(slots=True)
class Cost:
    """What a task took, in ns: wall and CPU time of its thread, and how long that was ready to run but had no core.

    For `alone` it was in functions that one thread at a time may call, and for `queued` it waited for its turn there.
    `yields` is how often the thread gave up its core to wait, `reads` how many blocks of 512 bytes it had read from a
    disk.
    """

    wall: int
    cpu: int
    starved: int = 0
    yields: int = 0
    reads: int = 0
    alone: int = 0
    queued: int = 0

    @property
    def blocked(self) -> int:
        """How long the thread waited for a disk, a sleep or a lock such as the GIL: not for a core, nor its turn."""
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
        """What a task like this one takes that takes so long."""
        share = 1 if wall == self.wall else wall / max(self.wall, 1)
        counts = (int(share * self.cpu), int(share * self.starved), round(share * self.yields), int(share * self.reads))
        return Cost(wall, *counts, int(share * self.alone), int(share * self.queued))


Took: TypeAlias = tuple[int, Cost]
"""The wall time of a task in ns, and what the task took that stands for it: itself, where it was measured in full."""


class Meter:
    """Measures tasks of one kind, in any thread.

    A thread's account of itself takes several calls of the system, dear after a task that has waited. So of most tasks
    only the wall time is measured, and the task that was measured in full last stands for the rest. What is on a disk
    is known of every task, as long as there are some that read.
    """

    def __init__(self) -> None:
        self._tasks = count()
        self._fully = FULLY  # the first task that need not be measured in full
        self._last = Cost(0, 0)

    def measure(self, make: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> tuple[T, Took]:
        """What `make` returns, and what it took."""
        task = next(self._tasks)
        if task < self._fully or task % EVERY == 0:
            return self._measure_fully(task, partial(make, *args, **kwargs))
        began = perf_counter_ns()
        made = make(*args, **kwargs)
        return made, (perf_counter_ns() - began, self._last)

    def _measure_fully(self, task: int, make: Callable[[], T]) -> tuple[T, Took]:
        held = held_here()
        before = thread_times()
        made = make()
        took = (after - earlier for after, earlier in zip(thread_times(), before, strict=True))
        turns = (after - earlier for after, earlier in zip(held_here(), held, strict=True))
        cost = Cost(*took, *turns)
        self._last = cost
        if cost.reads:
            self._fully = task + 1 + FULLY
        return made, (cost.wall, cost)


class Done:
    """What a task ended with, where it made what it was to make."""

    __slots__ = ()
    took: Took

    @property
    def cost(self) -> Cost:
        """What it took; reckoned where it is asked for, and not in the thread that has other tasks to do."""
        wall, like = self.took
        return like.over(wall)


@dataclass(slots=True)
class Stacked(Done):
    """The elements of a task's rows as arrays of shape (k, ...), one a leaf."""

    structure: Any
    arrays: list[Stack]
    in_place: bool
    took: Took


@dataclass(slots=True)
class Listed(Done):
    """The elements of a task's rows, one by one."""

    elements: list[Any]
    took: Took

    def __reduce__(self) -> tuple[Any, ...]:
        return Listed, (travelling(self.elements), self.took)


@dataclass(slots=True)
class Spreaded(Done):
    """The elements that came of a unit of a stream."""

    piece: Piece
    took: Took


def make_stacked(
    program: Program, rows: Rows, out: list[np.ndarray] | None, allocate: Allocate, meter: Meter, *, batches: int = 1
) -> Stacked:
    """Make the elements of `rows`, for a number of batches, and stack them, in `out` where they fit."""

    def make() -> tuple[Structure, list[Stack]]:
        return stack_all(program(rows, out), rows, out=out, allocate=allocate, to_largest=batches == 1)

    (structure, arrays), took = meter.measure(make)
    in_place = out is not None and len(out) == len(arrays) and all(a is b for a, b in zip(arrays, out, strict=True))
    return Stacked(structure, arrays, in_place, took)


def make_listed(program: Program, rows: Rows, meter: Meter) -> Listed:
    """Make the elements of `rows`."""
    return Listed(*meter.measure(lambda: program(rows).elements()))


def make_spread(
    spread: Spread, given: Piece, advise: Callable[[Rows], Any] | None, soon: Rows | None, meter: Meter
) -> Spreaded:
    """Make what comes of a unit of a stream, once the source is told of the rows `soon`, if there are some."""

    def make() -> Piece:
        if advise is not None and soon is not None:
            advise(soon)
        return spread(given)

    return Spreaded(*meter.measure(make))

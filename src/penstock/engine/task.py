"""One task: a program called on one run of rows, in one worker, and what it cost."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from time import perf_counter_ns
from typing import Any, Self, TypeAlias

import numpy as np

from penstock.elements.gathering import stack_all
from penstock.elements.stacking import Stack
from penstock.kernels.clocks import thread_times
from penstock.plan.flow import Piece
from penstock.plan.node import Allocate, Program, Rows

Began: TypeAlias = tuple[int] | tuple[int, int, int, int, int]
"""What a thread had taken when a task began, its wall clock first; of a task that is measured in part that alone."""

FULLY = 16  # tasks that are measured in full at first, and after each that read from a disk
EVERY = 13  # of so many one is then; a prime number, so that what comes round at intervals is seen


@dataclass(slots=True)
class Cost:
    """What a task took, in ns: wall and CPU time of its thread, and how long that was ready to run but had no core.

    `yields` is how often the thread gave up its core to wait, `reads` how many blocks of 512 bytes it had read from a
    disk.
    """

    wall: int
    cpu: int
    starved: int = 0
    yields: int = 0
    reads: int = 0

    @property
    def blocked(self) -> int:
        """How long the thread waited for something other than a core: a disk, a sleep, a lock such as the GIL."""
        return max(self.wall - self.cpu - self.starved, 0)

    def __iadd__(self, other: Cost) -> Self:
        self.wall += other.wall
        self.cpu += other.cpu
        self.starved += other.starved
        self.yields += other.yields
        self.reads += other.reads
        return self

    def over(self, wall: int) -> Cost:
        """What a task like this one takes that takes so long."""
        share = 1 if wall == self.wall else wall / max(self.wall, 1)
        return Cost(
            wall, int(share * self.cpu), int(share * self.starved), round(share * self.yields), int(share * self.reads)
        )


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
        self._begun = 0
        self._fully = FULLY  # the first task that need not be measured in full
        self._last = Cost(0, 0)

    def begin(self) -> Began:
        """What `since` is to be asked for when the task has ended."""
        self._begun = task = next(self._tasks)
        return thread_times() if task < self._fully or task % EVERY == 0 else (perf_counter_ns(),)

    def since(self, began: Began) -> Took:
        """What the calling thread took since it began, reckoned as far as only that thread can."""
        if len(began) == 1:
            return perf_counter_ns() - began[0], self._last
        wall, cpu, starved, yields, reads = thread_times()
        cost = Cost(wall - began[0], cpu - began[1], starved - began[2], yields - began[3], reads - began[4])
        self._last = cost
        if cost.reads:
            self._fully = self._begun + 1 + FULLY
        return cost.wall, cost


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


@dataclass(slots=True)
class Spreaded(Done):
    """The elements that came of a unit of a stream."""

    piece: Piece
    took: Took


def make_stacked(
    program: Program, rows: Rows, out: list[np.ndarray] | None, allocate: Allocate, meter: Meter
) -> Stacked:
    """Make the elements of `rows` and stack them, in `out` where they fit."""
    began = meter.begin()
    structure, arrays = stack_all(program(rows, out), rows, out=out, allocate=allocate)
    in_place = out is not None and len(out) == len(arrays) and all(a is b for a, b in zip(arrays, out, strict=True))
    return Stacked(structure, arrays, in_place, meter.since(began))


def make_listed(program: Program, rows: Rows, meter: Meter) -> Listed:
    """Make the elements of `rows`."""
    began = meter.begin()
    elements = program(rows).elements()
    return Listed(elements, meter.since(began))

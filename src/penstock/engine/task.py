"""One task: a program called on one run of rows, in one worker, and what it cost."""

from __future__ import annotations

import resource
from dataclasses import dataclass
from time import perf_counter_ns, thread_time_ns
from typing import Any

import numpy as np

from penstock.elements.gathering import stack_all
from penstock.elements.stacking import Stack
from penstock.plan.flow import Piece
from penstock.plan.node import Allocate, Program, Rows


@dataclass(slots=True)
class Cost:
    """What a task took, in ns: wall and CPU time of its thread, and how long that was ready to run but had no core.

    `yields` is how often the thread gave up its core to wait.
    """

    wall: int
    cpu: int
    starved: int = 0
    yields: int = 0

    @property
    def blocked(self) -> int:
        """How long the thread waited for something other than a core: a disk, a sleep, a lock such as the GIL."""
        return max(self.wall - self.cpu - self.starved, 0)

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.wall + other.wall, self.cpu + other.cpu, self.starved + other.starved, self.yields + other.yields
        )


@dataclass(slots=True)
class Stacked:
    """The elements of a task's rows as arrays of shape (k, ...), one a leaf."""

    structure: Any
    arrays: list[Stack]
    in_place: bool
    cost: Cost


@dataclass(slots=True)
class Listed:
    """The elements of a task's rows, one by one."""

    elements: list[Any]
    cost: Cost


@dataclass(slots=True)
class Spreaded:
    """The elements that came of a unit of a stream."""

    piece: Piece
    cost: Cost


def make_stacked(
    program: Program, rows: Rows, out: list[np.ndarray] | None, allocate: Allocate, *, fully: bool = True
) -> Stacked:
    """Make the elements of `rows` and stack them, in `out` where they fit."""
    meter = Meter(fully=fully)
    structure, arrays = stack_all(program(rows, out), rows, out=out, allocate=allocate)
    in_place = out is not None and len(out) == len(arrays) and all(a is b for a, b in zip(arrays, out, strict=True))
    return Stacked(structure, arrays, in_place, meter.read())


def make_listed(program: Program, rows: Rows, *, fully: bool = True) -> Listed:
    """Make the elements of `rows`."""
    meter = Meter(fully=fully)
    elements = program(rows).elements()
    return Listed(elements, meter.read())


class Meter:
    """Reads the clocks of the thread that made it; what is beside them takes 10 µs to ask for, so only if `fully`."""

    __slots__ = ("beside", "cpu", "wall")

    def __init__(self, *, fully: bool) -> None:
        self.beside = _beside() if fully else None
        self.cpu = thread_time_ns()
        self.wall = perf_counter_ns()

    def read(self) -> Cost:
        """What has passed since."""
        wall = perf_counter_ns() - self.wall
        cpu = thread_time_ns() - self.cpu
        if self.beside is None:
            return Cost(wall, cpu)
        starved, yields = _beside()
        return Cost(wall, cpu, starved - self.beside[0], yields - self.beside[1])


def _beside() -> tuple[int, int]:
    """How long the calling thread has waited in a run queue, in ns, and how often it gave up its core.

    The former is 0 where the system does not tell.
    """
    yields = resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw
    try:
        with open("/proc/thread-self/schedstat", "rb", buffering=0) as file:
            return int(file.read().split()[1]), yields
    except (OSError, IndexError, ValueError):
        return 0, yields

"""One task: a program called on one run of rows, in one worker, and what it cost."""

from __future__ import annotations

import resource
from dataclasses import dataclass
from time import perf_counter_ns, thread_time_ns
from typing import Any

import numpy as np

from penstock.elements.gathering import stack_all
from penstock.plan.node import Allocate, Program, Rows


@dataclass(slots=True)
class Cost:
    """What a task took: wall and CPU time of its thread in ns, and how often the thread gave way to wait."""

    wall: int
    cpu: int
    waits: int

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.wall + other.wall, self.cpu + other.cpu, self.waits + other.waits)


@dataclass(slots=True)
class Stacked:
    """The elements of a task's rows as arrays of shape (k, ...), one a leaf."""

    structure: Any
    arrays: list[np.ndarray]
    in_place: bool
    cost: Cost


@dataclass(slots=True)
class Listed:
    """The elements of a task's rows, one by one."""

    elements: list[Any]
    cost: Cost


def make_stacked(program: Program, rows: Rows, out: list[np.ndarray] | None, allocate: Allocate) -> Stacked:
    """Make the elements of `rows` and stack them, in `out` where they fit."""
    meter = Meter()
    structure, arrays = stack_all(program(rows, out), rows, out=out, allocate=allocate)
    in_place = out is not None and len(out) == len(arrays) and all(a is b for a, b in zip(arrays, out, strict=True))
    return Stacked(structure, arrays, in_place, meter.read())


def make_listed(program: Program, rows: Rows) -> Listed:
    """Make the elements of `rows`."""
    meter = Meter()
    elements = program(rows).elements()
    return Listed(elements, meter.read())


class Meter:
    """Reads the clocks of the thread that made it."""

    __slots__ = ("cpu", "waits", "wall")

    def __init__(self) -> None:
        self.waits = resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw
        self.cpu = thread_time_ns()
        self.wall = perf_counter_ns()

    def read(self) -> Cost:
        """What has passed since."""
        wall = perf_counter_ns() - self.wall
        cpu = thread_time_ns() - self.cpu
        return Cost(wall, cpu, resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw - self.waits)

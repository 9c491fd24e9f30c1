"""One task: a program called on one run of rows, in one worker, and what it cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from penstock.elements.gathering import stack_all
from penstock.elements.stacking import Stack
from penstock.kernels.clocks import thread_times
from penstock.plan.flow import Piece
from penstock.plan.node import Allocate, Program, Rows


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


def make_stacked(program: Program, rows: Rows, out: list[np.ndarray] | None, allocate: Allocate) -> Stacked:
    """Make the elements of `rows` and stack them, in `out` where they fit."""
    began = thread_times()
    structure, arrays = stack_all(program(rows, out), rows, out=out, allocate=allocate)
    in_place = out is not None and len(out) == len(arrays) and all(a is b for a, b in zip(arrays, out, strict=True))
    return Stacked(structure, arrays, in_place, cost_since(began))


def make_listed(program: Program, rows: Rows) -> Listed:
    """Make the elements of `rows`."""
    began = thread_times()
    elements = program(rows).elements()
    return Listed(elements, cost_since(began))


def cost_since(began: tuple[int, int, int, int, int]) -> Cost:
    """What the calling thread took since its `thread_times` were those."""
    wall, cpu, starved, yields, reads = thread_times()
    return Cost(wall - began[0], cpu - began[1], starved - began[2], yields - began[3], reads - began[4])

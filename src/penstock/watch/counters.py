"""What every operation took, counted from outside it."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from time import perf_counter_ns, thread_time_ns
from typing import Any

import numpy as np

from penstock.elements.chunk import Chunk, Columns
from penstock.plan.node import Node, Program, Rows

Cell = list[int]  # calls, rows, wall ns, CPU ns, bytes: of one operation in one thread
CALLS, ROWS, WALL, CPU, BYTES = range(5)


@dataclass(eq=False)
class Operation:
    """The counts of one node's program, a cell for each thread, so that no thread waits for another."""

    label: str
    inputs: list[Operation]
    cells: dict[int, Cell] = field(default_factory=dict)

    def cell(self) -> Cell:
        """The calling thread's counts."""
        ident = threading.get_ident()
        found = self.cells.get(ident)
        if found is None:
            found = self.cells[ident] = [0, 0, 0, 0, 0]
        return found

    def total(self) -> Cell:
        """The counts of all threads, what is spent in the inputs included."""
        return [sum(counts) for counts in zip(*list(self.cells.values()), strict=True)] or [0, 0, 0, 0, 0]


class Counters:
    """An engine's observer that counts calls, rows, wall and CPU time, and bytes of every operation.

    Four readings of a clock a call, and a call makes many rows, so it costs well under one per cent.
    """

    def __init__(self) -> None:
        self.operations: list[Operation] = []
        self._open: list[Operation] = []  # operations whose reader is not wrapped yet

    def wrap(self, node: Node, program: Program) -> Program:
        """The program, measured; nodes come inputs first."""
        taken = len(self._open) - len(node.inputs)
        operation = Operation(node.label(), self._open[taken:])
        self._open[taken:] = [operation]
        self.operations.append(operation)

        def measured(rows: Rows, out: list[np.ndarray] | None = None) -> Chunk:
            cell = operation.cell()
            wall, cpu = perf_counter_ns(), thread_time_ns()
            chunk = program(rows, out)
            cell[CPU] += thread_time_ns() - cpu
            cell[WALL] += perf_counter_ns() - wall
            cell[CALLS] += 1
            cell[ROWS] += len(rows)
            cell[BYTES] += _size(chunk)
            return chunk

        return measured

    def drain(self) -> list[Cell]:
        """The counts since the last time, for another process."""
        counted = [operation.total() for operation in self.operations]
        for operation in self.operations:
            operation.cells.clear()
        return counted

    def absorb(self, counted: list[Cell]) -> None:
        """Add the counts of an observer in another process, which wrapped the same plan."""
        for operation, counts in zip(self.operations, counted, strict=True):
            cell = operation.cell()
            for at, count in enumerate(counts):
                cell[at] += count

    def __reduce__(self) -> Any:
        return (Counters, ())  # what travels begins from nothing


def _size(chunk: Chunk) -> int:
    """Bytes of a chunk's leaves; of columns that are lists, as many times the first as there are."""
    if not isinstance(chunk, Columns):
        return 0
    return sum(column.nbytes if isinstance(column, np.ndarray) else _listed(column) for column in chunk.columns)


def _listed(column: list[Any]) -> int:
    first = column[0] if column else None
    if isinstance(first, np.ndarray):
        return first.nbytes * len(column)
    return len(first) * len(column) if isinstance(first, bytes | str) else 8 * len(column)

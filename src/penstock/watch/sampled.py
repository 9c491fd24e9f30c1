"""Counts of calls that are not measured one by one: of quick steps, and of batches that a native thread makes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from penstock.plan.step import Out, TallyingProgram, program_of_steps

if TYPE_CHECKING:
    from types import FrameType

    from penstock.core.arrays import Rows
    from penstock.elements.chunks.chunk import Chunk
    from penstock.engine.tasks.observer import WrappedStep
    from penstock.plan.types import Program
    from penstock.watch.counts import OperationCounters

SAMPLE = 16  # calls, one of which is measured for all: reading a thread's CPU time is expensive


class Unmeasured:
    """The calls of one thread, since the last one measured, in which quick steps were not measured."""

    __slots__ = ("counts", "left", "quick")

    def __init__(self) -> None:
        self.left = 0
        """The number of further calls to make in this way."""
        self.quick: frozenset[int] = frozenset()
        """The places of the steps that are not measured in them, from the top."""
        self.counts: list[list[int]] = []
        """The numbers of rows of each step, in each of the calls."""

    def of(self, place: int) -> tuple[int, int]:
        """Return the calls of the step at a place, and the rows in them."""
        counts = self.counts if place in self.quick else []
        return len(counts), sum([each[place] for each in counts])


def sampled(
    source: Program,
    steps: Sequence[WrappedStep],
    operations: Sequence[OperationCounters],
    is_recording: Callable[[], bool] | None,
) -> Program:
    """Return the program of steps over that of `source`: all are measured in each call, or quick ones in one of some.

    While it `is_recording`, all of them are measured in each call. Rows are counted in all calls.
    """
    whole, ident = program_of_steps(source, [step.wrapped for step in steps]), threading.get_ident
    by_thread: dict[int, Unmeasured] = {}
    programs: dict[frozenset[int], TallyingProgram] = {}  # that do not measure some steps

    def begin() -> Unmeasured:
        made = by_thread[ident()] = Unmeasured()
        for place, operation in enumerate(operations):
            operation.unmeasured.append((made, place))
        return made

    def look(since: Unmeasured) -> None:
        quick = frozenset(place for place, operation in enumerate(operations) if operation.is_quick)
        if quick not in programs:
            chosen = [step.plain if place in quick else step.wrapped for place, step in enumerate(steps)]
            programs[quick] = program_of_steps(source, chosen)
        since.quick, since.left = quick, SAMPLE - 1 if quick else 0

    def run(rows: Rows, out: Out = None) -> Chunk:
        since = by_thread.get(ident()) or begin()
        if since.left and (is_recording is None or not is_recording()):
            since.left -= 1
            counts: list[int] = []
            chunk = programs[since.quick](rows, out, counts)
            since.counts.append(counts)
            return chunk
        for place in since.quick:
            operations[place].skip(*since.of(place))
        since.counts = []
        chunk = whole(rows, out)
        look(since)
        return chunk

    return run


def operation_in(frame: FrameType, within: list[FrameType]) -> OperationCounters | None:
    """Return the operation that a frame of `sampled` runs without measuring it; `within` are the frames it has called.

    The last of these is that of the program of steps, in which those above the one under way are waiting.
    """
    inner = within[-1].f_locals if within else {}
    if not {"chunk", "down", "waiting"} <= inner.keys():
        return None
    operations: Sequence[OperationCounters] = frame.f_locals["operations"]
    changing = [each for each, step in zip(operations, inner["down"], strict=True) if step.change is not None]
    return changing[len(inner["waiting"])]


class Tally:
    """Counts of batches that no wrapped function makes."""

    __slots__ = ("_batches", "_calls", "_cpu", "_nbytes", "_rows", "_wall")

    def __init__(self) -> None:
        self._calls = self._batches = self._rows = self._nbytes = self._wall = self._cpu = 0

    def add(self, batches: int, rows: int, nbytes: int, wall: int, cpu: int) -> None:
        """Count some batches, with their rows and bytes, and the time (ns) that they took."""
        self._calls += 1
        self._batches += batches
        self._rows += rows
        self._nbytes += nbytes
        self._wall += wall
        self._cpu += cpu

    def of(self, *, of_batches: bool, has_time: bool) -> tuple[int, int, int, int, int]:
        """Return the calls, rows (batches, if `of_batches`), wall and CPU time (of one that has it) and bytes."""
        wall, cpu = (self._wall, self._cpu) if has_time else (0, 0)
        return self._calls, self._batches if of_batches else self._rows, wall, cpu, self._nbytes

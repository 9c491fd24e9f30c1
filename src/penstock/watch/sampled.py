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
QUICK_SAMPLE = 32  # calls of quick steps, the same


class Unmeasured:
    """The calls of one thread, since the last one measured, in which quick steps were not measured."""

    __slots__ = ("_steps", "counts", "most", "quick")

    def __init__(self, steps: int) -> None:
        self.quick: frozenset[int] = frozenset()
        """The places of the steps that are not measured in them, from the top."""
        self.counts: list[int] = []
        """The number of rows of each step, call by call."""
        self.most = 0
        """The most counts, with which the next call is measured."""
        self._steps = steps

    def of(self, place: int) -> tuple[int, int]:
        """Return the calls of the step at a place, and the rows in them."""
        if place not in self.quick:
            return 0, 0
        calls = len(self.counts) // self._steps
        return calls, sum(self.counts[place : calls * self._steps : self._steps])

    def begin(self, quick: frozenset[int]) -> None:
        """Count from zero; steps at these places need not be measured."""
        self.quick, self.counts = quick, []
        self.most = (QUICK_SAMPLE - 1) * self._steps if quick else 0


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
        made = by_thread[ident()] = Unmeasured(len(steps))
        for place, operation in enumerate(operations):
            operation.unmeasured.append((made, place))
        return made

    def quick_ones() -> frozenset[int]:
        quick = frozenset(place for place, operation in enumerate(operations) if operation.is_quick)
        if quick not in programs:
            chosen = [step.plain if place in quick else step.wrapped for place, step in enumerate(steps)]
            programs[quick] = program_of_steps(source, chosen)
        return quick

    def run(rows: Rows, out: Out = None) -> Chunk:
        since = by_thread.get(ident()) or begin()
        counts = since.counts
        before = len(counts)
        if before < since.most and not (is_recording and is_recording()):
            try:
                return programs[since.quick](rows, out, counts)
            except BaseException:
                del counts[before:]
                raise
        for place in since.quick:
            operations[place].skip(*since.of(place))
        since.begin(frozenset())
        chunk = whole(rows, out)
        since.begin(quick_ones())
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

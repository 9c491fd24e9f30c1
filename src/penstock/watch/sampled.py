"""Counts of calls that are not measured one by one: of quick operations, and of batches that a native thread makes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

from penstock.engine.tasks.observer import Unobserved
from penstock.plan.step import Out, Step, TallyingProgram, program_of_steps

if TYPE_CHECKING:
    from types import FrameType

    from penstock.core.arrays import Rows
    from penstock.elements.chunks.chunk import Chunk
    from penstock.engine.tasks.observer import Wrapped
    from penstock.plan.types import Program
    from penstock.watch.counts import OperationCounters

SAMPLE = 16  # calls, one of which is measured for all: reading a thread's CPU time is expensive
QUICK_SAMPLE = 32  # calls of quick steps, the same
NONE: frozenset[int] = frozenset()


class Unmeasured:
    """The calls of one thread, since the last one measured, in which quick operations were not measured."""

    __slots__ = ("_levels", "counts", "most", "program", "quick")

    def __init__(self, regroups: Sequence[bool], program: TallyingProgram) -> None:
        self.program = program
        """The program that runs in them."""
        self.quick: frozenset[int] = frozenset()
        """The places of the operations that are not measured in them, from the top."""
        self.counts: list[int] = []
        """The numbers of rows that the program notes, call by call."""
        self.most = 0
        """The most counts, with which the next call is measured."""
        self._levels = [0, *accumulate(regroups)]  # the number of each operation's rows among those of a call

    def of(self, place: int) -> tuple[int, int]:
        """Return the calls of the operation at a place, and the rows in them."""
        if place not in self.quick:
            return 0, 0
        noted = 1 + self._levels[-1]
        calls = len(self.counts) // noted
        return calls, sum(self.counts[self._levels[place] : calls * noted : noted])

    def begin(self, quick: frozenset[int], program: TallyingProgram) -> None:
        """Count from zero; `program` does not measure the operations at these places."""
        self.quick, self.counts, self.program = quick, [], program
        self.most = (QUICK_SAMPLE - 1) * (1 + self._levels[-1]) if quick else 0


def sampled(
    source: Wrapped[Program],
    steps: Sequence[Wrapped[Step]],
    operations: Sequence[OperationCounters],
    is_recording: Callable[[], bool] | None,
) -> Program:
    """Return the program of steps over that of `source`: all are measured in each call, or quick ones in one of some.

    While it `is_recording`, all of them are measured in each call. Rows are counted in all calls. The `operations` are
    those of the steps and the source.
    """
    if not any(operation.is_sampled for operation in operations):
        return Unobserved().join(source, steps)
    regroups, ident = [step.plain.regroups for step in steps], threading.get_ident
    by_thread: dict[int, Unmeasured] = {}
    programs: dict[frozenset[int], TallyingProgram] = {}  # by the places of those that they do not measure

    def program_for(quick: frozenset[int]) -> TallyingProgram:
        if quick not in programs:
            chosen = [step.plain if place in quick else step.wrapped for place, step in enumerate(steps)]
            base = source.plain if len(steps) in quick else source.wrapped
            programs[quick] = program_of_steps(base, chosen)
        return programs[quick]

    def begin() -> Unmeasured:
        made = by_thread[ident()] = Unmeasured(regroups, program_for(NONE))
        for place, operation in enumerate(operations):
            operation.unmeasured.append((made, place))
        return made

    def run(rows: Rows, out: Out = None) -> Chunk:
        since = by_thread.get(ident()) or begin()
        counts = since.counts
        before = len(counts)
        if before < since.most and not (is_recording and is_recording()):
            try:
                return since.program(rows, out, counts)
            except BaseException:
                del counts[before:]
                raise
        for place in since.quick:
            operations[place].skip(*since.of(place))
        since.begin(NONE, program_for(NONE))
        chunk = since.program(rows, out)
        quick = frozenset(place for place, operation in enumerate(operations) if operation.is_quick)
        since.begin(quick, program_for(quick))
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
    steps: Sequence[Step] = inner["down"]
    changing = [each for each, step in zip(operations, steps, strict=False) if step.change is not None]
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

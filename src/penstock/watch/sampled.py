"""Counts of calls that are not measured one by one: of quick operations, and of batches that a native thread makes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

from penstock.engine.tasks.observer import Unobserved
from penstock.plan.step import Links, Out, RowCounts, Step, StepChain

if TYPE_CHECKING:
    from types import FrameType

    from penstock.core.arrays import Rows
    from penstock.elements.chunks.chunk import Chunk
    from penstock.engine.tasks.observer import TaskRecorder, Wrapped
    from penstock.plan.types import Program
    from penstock.watch.counts import OperationCounters

SAMPLE = 16  # calls, one of which is measured for all: reading a thread's CPU time is expensive
QUICK_SAMPLE = 61  # calls of quick steps, the same; a prime number, so that periodic work is seen


class Unmeasured:
    """The calls, since the last one measured, in which quick operations were not measured."""

    __slots__ = ("_levels", "noted", "quick")

    def __init__(self, quick: frozenset[int], levels: Sequence[int]) -> None:
        self.quick = quick
        """The places of the operations that are not measured in them, from the top."""
        self.noted: list[RowCounts] = []
        """The numbers of rows of each call."""
        self._levels = levels  # the number of each operation's rows among those of a call

    def of(self, place: int) -> tuple[int, int]:
        """Return the calls of the operation at a place, and the rows in them."""
        noted, level = self.noted[:], self._levels[place]
        return len(noted), sum(counts[level] for counts in noted)

    def take(self) -> list[tuple[int, int, int]]:
        """Return the place, calls and rows of each operation, and count from zero."""
        noted = self.noted[:]
        del self.noted[: len(noted)]  # not those that other threads have added meanwhile
        totals = [sum(counts) for counts in zip(*noted, strict=True)]
        return [(place, len(noted), totals[self._levels[place]]) for place in self.quick if noted]


class SampledChain(StepChain):
    """A chain of operations, all of which are measured in each call, or quick ones in ever fewer of them.

    Rows are counted in all calls. The `operations` are those of the steps and, the last one, of the source. As long as
    the `recorder` has room, all are measured in each call.
    """

    __slots__ = ("_by_quick", "_levels", "_recorder", "_sides", "_unmeasured", "_whole", "most", "operations")

    def __init__(
        self,
        source: Wrapped[Program],
        steps: Sequence[Wrapped[Step]],
        operations: Sequence[OperationCounters],
        recorder: TaskRecorder | None = None,
    ) -> None:
        self.operations = operations
        self._recorder = recorder
        self.most = 0  # calls before the next one that is measured: twice as many each time, as long as some are quick
        self._sides = source, steps
        self._levels = [0, *accumulate(step.plain.regroups for step in steps)]
        self._whole = Unobserved().join(source, steps)
        self._by_quick: dict[frozenset[int], tuple[Links, Unmeasured]] = {}
        super().__init__(source.wrapped, ())
        self._skip(frozenset())

    def take_stock(self, rows: Rows, out: Out) -> Chunk:
        """Make a call in which all operations are measured, and stand for the calls before it."""
        for place, calls, count in self._unmeasured.take():
            self.operations[place].skip(calls, count)
        chunk = self._whole(rows, out)
        quick = frozenset(place for place, operation in enumerate(self.operations) if operation.is_quick)
        self._skip(quick)
        records = self._recorder is not None and self._recorder.room > 0
        self.most = min(2 * self.most + 1, QUICK_SAMPLE - 1) if quick and not records else 0
        return chunk

    def _skip(self, quick: frozenset[int]) -> None:
        """Measure all but the operations at these places in the next calls, or all operations if there are none."""
        if quick not in self._by_quick:
            source, steps = self._sides
            unmeasured = Unmeasured(quick, self._levels)
            chosen = tuple(step.plain if place in quick else step.wrapped for place, step in enumerate(steps))
            base = source.plain if len(steps) in quick else source.wrapped
            self._by_quick[quick] = (base, chosen, unmeasured.noted if quick else ALL_NOTED), unmeasured
            for place in quick:
                self.operations[place].unmeasured.append((unmeasured, place))
        self.linked, self._unmeasured = self._by_quick[quick]


ALL_NOTED: list[RowCounts] = [()] * QUICK_SAMPLE
"""As many notes as let each call be measured."""


def operation_in(frame: FrameType) -> OperationCounters | None:
    """Return the operation that a frame of a chain runs without measuring it.

    The chain is in its steps from the bottom up, and those above the one under way are waiting.
    """
    here = frame.f_locals
    chain = here.get("self")
    if not isinstance(chain, SampledChain) or not {"chunk", "down", "waiting"}.issubset(here):
        return None
    steps: Sequence[Step] = here["down"]
    changing = [each for each, step in zip(chain.operations, steps, strict=False) if step.change is not None]
    return changing[len(here["waiting"])]


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

"""The part of an iterator that watches its run: stats, the verdict, and files that show them."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable
from time import perf_counter_ns
from typing import TYPE_CHECKING

from penstock import watch
from penstock.core.errors import PlanError

if TYPE_CHECKING:
    from penstock.engine.runs.carry_over import CarryOver
    from penstock.engine.runs.run import Run
    from penstock.watch.counters import Counters
    from penstock.watch.leaks import MemoryGrowth
    from penstock.watch.viewers import Viewer, Viewers


class Watching:
    """`stats`, `verdict` and `trace` of an iterator."""

    _carry_over: CarryOver
    _counters: Counters
    _growth: MemoryGrowth | None
    _run: Run | None
    _viewers: Viewers | None
    _received: int
    _waited: int
    _first: int
    _last: int

    def stats(self) -> watch.stats.Stats:
        """Return the counts since the iterator was made or a state was loaded; as text, `Stats` is a table.

        >>> it = Dataset.range(10).filter(lambda x: x % 2 == 0).batch(2).iterator()
        >>> len(next(it)), it.stats().items, it.stats().rows
        (2, 1, 2)
        """
        waited, last = self._waited, self._last
        stepped = (perf_counter_ns() if self._run and self._run.ended is None else last) - self._first - waited
        times = (waited, max(stepped, 0) if last else 0)
        memory = self._carry_over.memory
        return watch.report.stats_of(self._run, self._counters, memory, self._received, times, self._growth)

    def verdict(self) -> str:
        """Return the limit of this run in words: who waits, for which operation, its ceiling, and what to change.

        >>> it = iter(Dataset.range(3))
        >>> it.verdict()
        'Too early to say: 0 elements in 0.00 s.'
        """
        return watch.verdict.verdict(self.stats())

    def trace(self, path: str | os.PathLike[str]) -> None:
        """Write a trace of this pass for https://ui.perfetto.dev or `chrome://tracing`; call it before the first item.

        The trace shows tasks and their operations on the threads and processes that make them, the consumer's waits
        and steps, memory, the tuner's decisions and events. A name that ends with `.gz` is packed. The file grows
        twice a second and is readable at any moment, also after the process was killed. If it cannot be written, the
        log says so and the run goes on. Calls of an operation below 20 µs are left out.

        >>> import json, os, tempfile
        >>> it = Dataset.range(8).batch(4).iterator()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "run.json")
        ...     it.trace(path)
        ...     batches = list(it)
        ...     with open(path) as file:
        ...         events = json.load(file)
        >>> sum(event.get("cat") == "wait" for event in events) > 0
        True
        """
        self._add_viewer("trace", lambda: watch.trace.viewer.TraceViewer(path), spans=True)

    def _add_viewer(self, call: str, make: Callable[[], Viewer], *, spans: bool = False) -> None:
        """Make a viewer that looks at the run from its beginning, perhaps with spans."""
        if self._run is not None:
            raise PlanError(f"{call}(): the pass has begun; call it before the first item is taken")
        if self._viewers is None:
            self._viewers = watch.viewers.Viewers()
            weakref.finalize(self, self._viewers.close)
        self._viewers.add(make())
        if spans and self._viewers.spans is None:
            self._counters = self._viewers.counters(with_spans=True)

    def _let_look(self, viewers: Viewers, asked: int) -> None:
        """Let the viewers look at the moment in which items arrived, or the run ended."""
        if self._run is not None:
            viewers.look(watch.viewers.Moment(asked, self._last, self._received, self._run.unit, self.stats, self._run))

"""The part of an iterator that watches its run: stats, the verdict, and files that show them."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, TextIO

from penstock import plan as plans
from penstock import watch
from penstock.core.checks import check_local_path, check_text
from penstock.core.errors import PlanError
from penstock.engine.tuning.settings import operations_of
from penstock.plan.graph import post_order

if TYPE_CHECKING:
    from penstock.core.tunings import Tuning
    from penstock.core.verdicts import Verdict
    from penstock.dataset.passes import Passes
    from penstock.engine.cursors.cursor import Cursor
    from penstock.engine.runs.run import Run
    from penstock.engine.runs.scope import CarryOver
    from penstock.plan.explain import Explanation
    from penstock.plan.node import Node
    from penstock.watch.counters import Counters
    from penstock.watch.leaks import MemoryGrowth
    from penstock.watch.live.view import Glance
    from penstock.watch.steps import StepClock
    from penstock.watch.stuck import Watched
    from penstock.watch.viewers import Viewer, Viewers


class Watching:
    """`stats`, `verdict`, and files and programs that show the run of an iterator."""

    _began: Cursor
    _carry_over: CarryOver
    _counters: Counters
    _cursor: Cursor
    _failure: str
    _growth: MemoryGrowth | None
    _passes: Passes
    _plan: Node
    _run: Run | None
    _viewers: Viewers | None
    _watched: Watched | None
    _received: int
    _steps: StepClock
    _waited: int
    _first: int
    _last: int
    _left: int

    def stats(self) -> watch.stats.Stats:
        """Return the counts since the iterator was made or a state was loaded; as text, `Stats` is a table.

        >>> it = Dataset.range(10).filter(lambda x: x % 2 == 0).batch(2).iterator()
        >>> len(next(it)), it.stats().items, it.stats().rows
        (2, 1, 2)
        """
        waited, last = self._waited, self._last
        now = perf_counter_ns() if self._run and self._run.ended is None else last
        asked = self._watched.asked if self._watched else 0
        waited += max(now - asked, 0) if asked else 0  # another thread asks while the consumer waits
        paused = self._run.session.controls.waits_since if self._run else 0
        stepped = now - self._first - waited - (now - paused if paused else 0)
        times = (waited, max(stepped, 0) if last or asked else 0)
        memory, steps = self._carry_over.memory, self._steps.times()
        return watch.report.stats_of(
            self._run, self._counters, memory, self._received, times, self._growth, steps, self._failure
        )

    def verdict(self) -> Verdict:
        """Return the limit of this run in words: who waits, for which operation, its ceiling, and what to change.

        The parts are attributes of the text: see `Verdict`.

        >>> it = iter(Dataset.range(3))
        >>> it.verdict()
        'Too early to say: 0 elements in 0.00 s.'
        """
        return watch.verdict.verdict(self.stats())

    def live(self, title: str = "", *, details: bool = True, leave: bool = True, file: TextIO | None = None) -> None:
        """Show this pass on the terminal while it is under way; call it before the first item.

        Lines below the cursor show the position in the epoch and the time left, batches (or elements) and rows per
        second, the share of its time that the consumer waits, memory, a bar for each operation with its share of the
        work, the limit, and the last event. They change a few times a second, even if no item arrives. Rates and shares
        are those of the last ten seconds. If the consumer waits for long, the lines name the cause. With
        `details=False` there is one line. Prints go above the lines, which are removed when the pass ends, fails or is
        closed. One line with the totals stays, unless `leave` is false. `file` is `sys.stderr` by default. If it is not
        a terminal, it gets a line every ten seconds. With `NO_COLOR` in the environment there are no colors.

        >>> import io
        >>> file, it = io.StringIO(), Dataset.range(8).batch(2).iterator()
        >>> it.live("train", file=file)
        >>> batches = list(it)
        >>> print(file.getvalue(), end="")
        train: 4 batches in 0:00, ... batches/s, waited ... % of the time
        """
        glance = self._weak_glance()
        self._add_viewer(
            "live",
            lambda: watch.live.viewer.LiveViewer(glance, title, details=details, leave=leave, stream=file),
        )

    def explain(self) -> Explanation:
        """Return the plan as written and as run, with what this run has measured of each operation.

        The figures are the rows that an operation made, the time and bytes of a row, without those of its inputs, and
        its share of all work; then come the tuner's decisions and the events. See `Dataset.explain`.

        >>> it = Dataset.range(8).skip(2).skip(1).batch(2).iterator()
        >>> batches = list(it)
        >>> it.explain()
        as written:
          range(8)              8 × int64
          skip(2)               6 × int64
          skip(1)               5 × int64
          batch(2)              3 × int64[?]
        as run, inline; 3 batches:
                                            rows made  µs a row ...
          range(8)              8 × int64           5 ...
          skip(3)               5 × int64           5 ...
          batch(2)              3 × int64[?]        3 ...
        rewrites: merge_skips
        order: indexed; any row can be made alone, and skipping costs nothing
        """
        plan, run, applied = self._as_run()
        return plans.explain.explained(plan, run, applied, watch.explained.measured_run(self.stats()))

    def _repr_html_(self) -> str:
        return self.display(lambda: repr(self), self.verdict)

    def display(self, title: Callable[[], str], verdict: Callable[[], str]) -> str:
        """Return the counts as of now as HTML for a notebook; this takes no element, and raises no error."""
        shown = watch.notebook.counts.stats_html
        return watch.notebook.frame.never_failing(
            lambda: shown(self.stats(), title().strip("<>"), verdict()), lambda: repr(self)
        )

    def tuning(self) -> Tuning:
        """Return the settings that the tuner has found for this run so far: to print, save, and pin.

        Before the first item there are none, which is a `PlanError`. Executors that you pass are not part of them.

        >>> it = Dataset.range(8).batch(4).iterator()
        >>> batches = list(it)
        >>> print(it.tuning())
        inline, of ... cores
          batch(4): ...
        because: no threads: an item costs ... ms, and threads pay from 0.3 ms on
        ...
        """
        if self._run is None:
            raise PlanError("tuning(): nothing has been tuned before the first item; call it later in the pass")
        return self._run.tuning(operations_of(list(post_order(self._plan))))

    def trace(self, path: str | os.PathLike[str]) -> None:
        """Write a trace of this pass for https://ui.perfetto.dev or `chrome://tracing`; call it before the first item.

        The trace shows tasks and their operations on the threads and processes that make them, the consumer's waits
        and steps, a feed's transfers, memory, the tuner's decisions and events. If the name ends with `.gz`, the
        file is compressed. It grows twice a second, and is readable at any moment, also after the process was killed.
        If it cannot be written, Penstock logs a warning, and the run continues. Calls of an operation below 20 µs are
        left out.

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
        where = check_local_path("trace", "path", path)
        self._add_viewer("trace", lambda: watch.trace.viewer.TraceViewer(where))

    def note_transfer(self, name: str, begin: int, took: int, nbytes: int) -> None:
        """Record the transfer of a batch to a device for a trace or a report; times are in ns."""
        if self._viewers is not None and self._viewers.spans is not None:
            self._viewers.spans.note_transfer(name, begin, took, nbytes)

    def to_tensorboard(self, to: Any) -> None:
        """Write the figures of this pass for TensorBoard, once a second; call it before the first item.

        `to` is the folder that TensorBoard is started with, or one of its runs: the figures are a run `penstock` inside
        of it, next to your own scalars. To add them to your own run, pass your writer (PyTorch, tensorboardX or
        TensorFlow). The curves are items and rows per second, the share of its time that the consumer waits, tasks
        under way, workers, memory, and each operation's share of the work. The texts are the tuner's decisions, events
        and, at the end, the verdict. A folder needs no other library. If the file cannot be written, Penstock logs a
        warning, and the run continues.

        >>> import os, tempfile
        >>> it = Dataset.range(8).batch(4).iterator()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     it.to_tensorboard(folder)
        ...     batches = list(it)
        ...     os.listdir(folder)
        ['penstock']
        """
        is_path = isinstance(to, str | os.PathLike)
        where = check_local_path("to_tensorboard", "to", to) if is_path else watch.export.tensorboard.writer_of(to)
        if where is None:
            raise TypeError(f"to_tensorboard(): expected a folder or a SummaryWriter, not {type(to).__name__}")
        self._add_viewer("to_tensorboard", lambda: watch.export.tensorboard.TensorBoardViewer(where))

    def to_prometheus(self, pipeline: str = "penstock", *, registry: Any = None) -> None:
        """Let Prometheus scrape the counts of this pass, labeled `pipeline`, from a registry of its library.

        Without a `registry` it is the library's own, as `prometheus_client.start_http_server(8000)` serves it. The
        series end with the pass. Without prometheus_client a `MissingDependencyError` is raised.

        >>> from prometheus_client import CollectorRegistry, generate_latest
        >>> registry, it = CollectorRegistry(), Dataset.range(8).batch(4).iterator()
        >>> it.to_prometheus("train", registry=registry)
        >>> batch = next(it)
        >>> print(generate_latest(registry).decode())
        # HELP penstock_items_total Items received by the consumer
        # TYPE penstock_items_total counter
        penstock_items_total{pipeline="train"} 1.0
        ...
        """
        check_text("to_prometheus", "pipeline", pipeline)
        stats = self._weak_stats()
        self._add_viewer("to_prometheus", lambda: watch.export.prometheus.PrometheusViewer(stats, pipeline, registry))

    def to_opentelemetry(self, pipeline: str = "penstock", *, meter: Any = None) -> None:
        """Let OpenTelemetry observe the counts of this pass, with the attribute `pipeline`, by its library.

        Without a `meter` it is `opentelemetry.metrics.get_meter("penstock")`. The pass is observed until it is over.
        Without opentelemetry-api a `MissingDependencyError` is raised.

        >>> it = Dataset.range(8).batch(4).iterator()
        >>> it.to_opentelemetry("train")  # doctest: +SKIP
        """
        check_text("to_opentelemetry", "pipeline", pipeline)
        stats = self._weak_stats()
        self._add_viewer(
            "to_opentelemetry", lambda: watch.export.opentelemetry.OpenTelemetryViewer(stats, pipeline, meter)
        )

    def report(self, path: str | os.PathLike[str]) -> None:
        """Write a page about this pass, one HTML file that needs no network, when the pass ends.

        The page shows the verdict, the operations with widths by time, who waited for whom, the costs of elements with
        the names of the slowest, memory, decisions and events, a sample element (which is made once more), how well the
        order is mixed, findings of the lint, and the environment. After the first item, a call writes the page at once,
        from the counts alone. If the name ends with `.gz`, the file is compressed. If it cannot be written, Penstock
        logs a warning, and the run continues.

        >>> import os, tempfile
        >>> it = Dataset.range(8).batch(4).iterator()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "run.html")
        ...     it.report(path)
        ...     batches = list(it)
        ...     with open(path) as file:
        ...         file.read(15)
        '<!doctype html>'
        """
        where = check_local_path("report", "path", path)
        plan, bound, applied = self._as_run()

        def explained() -> str:
            return plans.explain.explained(plan, bound, applied)

        if self._run is None:
            self._add_viewer("report", lambda: watch.page.viewer.ReportViewer(where, bound, explained))
        else:
            facts = watch.page.viewer.facts_of(bound, self.stats(), explained)
            watch.page.viewer.write_page(where, facts)

    def _as_run(self) -> tuple[Node, Node, tuple[str, ...]]:
        """Return the plan as written and as run, and the rewrites applied."""
        states = self._passes.states
        run = states.rewritten(self._plan, self._cursor)
        return self._plan, run.plan, () if states.options.rewrite is False else run.applied

    def _add_viewer(self, call: str, make: Callable[[], Viewer]) -> None:
        """Make a viewer that looks at the run from its beginning."""
        if self._run is not None:
            raise PlanError(f"{call}(): the pass has begun; call it before the first item is taken")
        if self._viewers is None:
            self._viewers = watch.viewers.Viewers()
            weakref.finalize(self, self._viewers.close)
        self._viewers.add(make())
        self._counters = self._viewers.counters()

    def _let_look(self, viewers: Viewers, asked: int) -> None:
        """Let the viewers look at the moment in which items arrived, or the run ended."""
        run, began = self._run, self._began
        if run is not None:
            first = began.epoch * max(run.plan.length, 0) + began.row
            moment = watch.viewers.Moment(
                asked, self._last, self._waited, self._received, first, run.unit, self.stats, run
            )
            viewers.look(moment)

    def _weak_stats(self) -> Callable[[], watch.stats.Stats | None]:
        """Return a function that returns the counts as long as the iterator exists."""
        found = weakref.ref(self)

        def stats() -> watch.stats.Stats | None:
            iterator = found()
            return None if iterator is None else iterator.stats()

        return stats

    def _weak_glance(self) -> Callable[[], Glance | None]:
        """Return a function that returns the counts and the place in the epoch, once the pass has begun."""
        method = weakref.WeakMethod(self._glance)

        def glance() -> Glance | None:
            found = method()
            return None if found is None else found()

        return glance

    def _glance(self) -> Glance | None:
        if not self._first:
            return None
        stats, watched, total = self.stats(), self._watched, self._plan.length
        asked = watched.asked if watched is not None else 0
        waiting = (perf_counter_ns() - asked) / 1e9 if asked else 0.0
        at_work = watched.at_work() if watched is not None and waiting > watch.live.view.LONG_WAIT_TOLD else []
        first = self._began.row if total < 0 else total - self._left
        return watch.live.view.Glance(
            stats, first, total, waiting, tuple(at_work), bool(self._run and self._run.session.controls.paused)
        )

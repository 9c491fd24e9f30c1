"""The viewer that writes a report: it gathers facts while the run goes on, and writes the page at its end."""

from __future__ import annotations

import gzip
import logging
import os
import platform
import sys
import threading
from collections.abc import Callable, Iterator
from html import escape
from importlib.metadata import version
from time import strftime
from typing import TYPE_CHECKING

import numpy as np

from penstock import lint, watch
from penstock import plan as plans
from penstock.core.replacing import replacing
from penstock.core.shown import without_credentials
from penstock.engine.runs.lowering import first_element
from penstock.engine.tasks.compile import compiled
from penstock.engine.tasks.observer import Unobserved
from penstock.ops.group.batching import batching_of
from penstock.plan.class_names import class_names_of
from penstock.plan.graph import all_nodes
from penstock.watch.notebook.first import first_elements_html
from penstock.watch.notebook.frame import in_frame
from penstock.watch.page.document import ReportFacts, page
from penstock.watch.page.facts import CostlyTask, Costs, Levels, Timeline
from penstock.watch.page.patience import Collector
from penstock.watch.page.records import RecordCosts
from penstock.watch.stats import PLURALS, cut_inside
from penstock.watch.viewers import Moment, Pace

if TYPE_CHECKING:
    from penstock.core.arrays import Rows
    from penstock.plan.node import Node
    from penstock.watch.stats import Stats
    from penstock.watch.trace.spans import Span

GLANCE_PAUSE = 20_000_000  # ns after a moment, or a bin of the timeline, in which the waits of others count together
LEVEL_PAUSE = 50_000_000  # ns between two looks at memory
STATS_PAUSE = 1_000_000_000  # ns between two collections of all counts, which take a millisecond
ORDERED = 1500  # elements whose order is drawn
MOST_IN_PARTS = 256  # items whose parts may come in any order
LONGEST_NAME = 60  # characters of a record's name
RECORDS_NAMED = 3  # records of a slow task that are named
SAMPLE_ELEMENTS = 4  # elements shown if they are not batches
SAMPLE_SECONDS = 10.0  # for which the page waits for a sample, whose source may wait for data without end
PAGE_FAILED = "the report {} cannot be written, and the run goes on without it: {}"


class ReportViewer:
    """A viewer that writes a page of HTML at the end of a pass."""

    records = "tasks"

    def __init__(self, path: str | os.PathLike[str], plan: Node, explained: Callable[[], str]) -> None:
        self._path = os.fspath(path)
        self._said = not can_write_page(self._path)
        self._plan = plan
        self._explained = explained
        self._timeline: Timeline | None = None
        self._costs, self._levels = Costs(), Levels()
        self._records: dict[str, RecordCosts] = {}  # by operation
        self._pace, self._stats_pace = Pace(LEVEL_PAUSE), Pace(STATS_PAUSE)
        self._parts: dict[tuple[str, int], int] = {}  # ns, by operation and item
        self._lanes: dict[tuple[int, int], str] = {}
        self._consumer = 0
        self._last = self._waited = self._began = 0  # of the moment before, and the first
        self.due = 0
        self._epoch = 0
        self._stats: Stats | None = None

    def look(self, moment: Moment, spans: list[Span]) -> None:
        if self._timeline is None:
            self._began = moment.asked
            self._timeline = Timeline(moment.asked)
            self._consumer = threading.get_ident()
            self._epoch = moment.run.cursor(0).epoch
        if self._last:
            between, waits = moment.asked - self._last, moment.waited - self._waited - (moment.now - moment.asked)
            self._timeline.add("steps", self._last, between, between - waits)
            self._timeline.add("waits", self._last, between, waits)
        self._last, self._waited = moment.now, moment.waited
        self.due = moment.now + max(GLANCE_PAUSE, self._timeline.width)
        self._timeline.add("waits", moment.asked, moment.now - moment.asked)
        self._take(spans)
        if self._stats_pace.is_due(moment.now):
            self._stats = moment.stats()
        if self._pace.is_due(moment.now):
            held = {kind: held / 1e6 for kind, held in moment.run.budget.held.items()}
            held["batches"] = moment.run.live_bytes / 1e6
            self._levels.add((moment.now - self._began) / 1e9, held)

    def close(self, last: Stats | None, spans: list[Span]) -> None:
        """Write the page."""
        self._take(spans)
        for key in list(self._parts):
            self._add_whole(key)
        stats = last or self._stats
        if stats is not None:
            write_page(self._path, self._facts(stats), said=self._said)

    def _take(self, spans: list[Span]) -> None:
        for span in spans:
            if span.times is not None:
                self._records.setdefault(span.name, RecordCosts()).add(*span.times)
            if span.kind in ("operation", "records", "left out") or self._timeline is None:
                continue
            if span.thread != self._consumer or span.process != os.getpid():
                self._timeline.add(self._lane_of(span), span.begin, span.took)
            if span.kind == "task":
                self._costs.add(CostlyTask(span.took, span.name, span.item, span.rows))
            elif span.kind == "part":  # of one item, which several tasks make
                key = span.name, span.item
                self._parts[key] = self._parts.get(key, 0) + span.took
                if len(self._parts) > MOST_IN_PARTS:
                    self._add_whole(next(iter(self._parts)))

    def _add_whole(self, key: tuple[str, int]) -> None:
        name, item = key
        self._costs.add(CostlyTask(self._parts.pop(key), name, item, 1))

    def _lane_of(self, span: Span) -> str:
        if span.kind == "transfer":
            return "transfers"
        key = span.process, span.thread
        return self._lanes.setdefault(key, f"worker {len(self._lanes) + 1}")

    def _facts(self, stats: Stats) -> ReportFacts:
        facts = facts_of(self._plan, stats, self._explained)
        facts.timeline = self._timeline or facts.timeline
        facts.costs, facts.levels = self._costs, self._levels
        facts.is_recorded = True
        facts.records = [
            self._record_costs(name, costs)
            for name, costs in self._records.items()
            if costs.mean >= watch.trace.spans.LEAST_TIMED
        ]
        facts.slowest = [self._words(task) for task in sorted(self._costs.slowest, reverse=True)]
        return facts

    def _record_costs(self, operation: str, costs: RecordCosts) -> tuple[str, list[str], Costs]:
        node = next((node for node in all_nodes(self._plan) if node.label() == operation), None)
        base = None if node is None else node if node.indexed else plans.locate.base_of(node)

        def name_of(record: int) -> str:
            found = [] if base is None else plans.locate.records(base, np.array([record], np.int64))
            return cut_inside(next((each.name for each in found), f"element {record}"), LONGEST_NAME)

        return costs.heading(operation), costs.named(name_of), costs.costs

    def _words(self, task: CostlyTask) -> str:
        plan = self._plan
        unit = "item" if task.name != plan.label() else "element" if batching_of(plan) is None else "batch"
        last = task.item + task.items - 1
        items = f"{unit} {task.item}" if task.items == 1 else f"{PLURALS.get(unit, 'items')} {task.item} to {last}"
        words = f"{task.took / 1e6:,.2f} ms: {items} of {task.name}"
        if not plan.indexed or task.name != plan.label():
            return words
        rows = np.arange(task.item, task.item + task.items, dtype=np.int64) + self._epoch * plan.stride
        names = [
            cut_inside(record.name, LONGEST_NAME)
            for record, _ in zip(plans.locate.records(plan, rows), range(RECORDS_NAMED + 1), strict=False)
        ]
        more = ", …" if len(names) > RECORDS_NAMED else ""
        return f"{words} ({', '.join(names[:RECORDS_NAMED])}{more})"


def facts_of(plan: Node, stats: Stats, explained: Callable[[], str]) -> ReportFacts:
    """Return the facts that need no recording."""
    order = source_order(plan)
    return ReportFacts(
        title=f"Penstock: {plan.label()}",
        stats=stats,
        timeline=Timeline(0),
        costs=Costs(),
        levels=Levels(),
        samples=_sample(plan),
        order=order,
        mixing=mixing_of(order, source_length(plan)),
        findings=[str(finding) for finding in lint.rules.findings(lint.written.Written(plan), lint.rules.OF_PLANS)],
        explained=explained(),
        environment=_environment(stats),
        is_recorded=False,
    )


def can_write_page(path: str) -> bool:
    """Return whether a page can be written there, or say in the log why not, before a long run instead of after it."""
    is_new = not os.path.lexists(path)
    try:
        with open(path, "ab"):
            pass
        if is_new:
            os.remove(path)
    except OSError as error:
        logging.getLogger("penstock").warning("%s", PAGE_FAILED.format(path, error))
        return False
    return True


def write_page(path: str, facts: ReportFacts, *, said: bool = False) -> None:
    """Write the page, or say in the log why that failed, unless that was said before."""
    content = without_credentials(page(facts)).encode(errors="backslashreplace")  # file names may be any bytes
    if path.lower().endswith(".gz"):
        content = gzip.compress(content)
    try:
        with replacing(path) as beside, open(beside, "wb") as file:
            file.write(content)
    except OSError as error:
        if not said:
            logging.getLogger("penstock").warning("%s", PAGE_FAILED.format(path, error))


def _sample(plan: Node) -> str:
    """Return the first element, made once more, as HTML; a thread makes it, so that the page does not wait for ever."""
    collector = Collector(_made_sample(plan))
    is_over = collector.wait(SAMPLE_SECONDS)
    if collector.error is not None:
        return f"<p>No element could be made: {escape(str(collector.error))}</p>"
    if collector.values or is_over:
        return "".join(collector.values)
    return f"<p>No element could be made within {SAMPLE_SECONDS:g} s.</p>"


def _made_sample(plan: Node) -> Iterator[str]:
    try:
        if plan.length == 0:
            return
        is_batched = batching_of(plan) is not None
        if plan.indexed:
            rows = np.arange(1 if is_batched else min(SAMPLE_ELEMENTS, plan.stride), dtype=np.int64)
            elements = compiled(plan, np.empty, Unobserved())(rows).elements()
        else:
            elements = [first_element(plan)]
        names = class_names_of(plan)
        yield in_frame(first_elements_html([*elements], None, batched=is_batched, class_names=names))
    except Exception as error:  # noqa: BLE001 - of the user's functions: the page shows it
        yield f"<p>No element could be made: {escape(f'{type(error).__name__}: {error}')}</p>"


def source_order(plan: Node) -> list[float]:
    """Return the positions in its only source, from 0 to 1, of the first elements; nothing if there is no such order.

    >>> from penstock import Dataset
    >>> source_order(Dataset.range(4).batch(2)._plan)
    [0.0, 0.25, 0.5, 0.75]
    """
    if not plan.indexed or plan.length <= 0:
        return []
    node = plan
    rows: Rows = np.arange(min(plan.length, ORDERED), dtype=np.int64)
    while inputs := node.inputs:
        if len(inputs) != 1:
            return []
        (rows,) = node.route(rows)
        node, rows = inputs[0], rows[:ORDERED]
    length = node.stride
    return [] if node.length <= 0 else (rows % length / length).tolist()


def source_length(plan: Node) -> int:
    """Return the number of positions in the only source of a plan.

    >>> from penstock import Dataset
    >>> source_length(Dataset.range(4).batch(2)._plan)
    4
    """
    while plan.inputs:
        plan = plan.inputs[0]
    return plan.stride


def mixing_of(order: list[float], length: int) -> float | None:
    """Return the mean distance of successive positions in a source: 0 of neighbors, 1 of a uniform shuffle or beyond.

    In rows, that of a uniform shuffle of `length` rows is (length + 1) / 3.

    >>> mixing_of([0.0, 0.25, 0.5, 0.75], 4), mixing_of([0.5, 0.0, 0.75, 0.25], 4)
    (0.0, 1.0)
    """
    if len(order) < 2 or length < 3:
        return None
    rows = length * float(np.abs(np.diff(np.array(order))).mean())
    return min(max((rows - 1) / ((length + 1) / 3 - 1), 0.0), 1.0)


def _environment(stats: Stats) -> dict[str, str]:
    return {
        "written": strftime("%Y-%m-%d %H:%M:%S"),
        "penstock": version("penstock"),
        "Python": sys.version.split()[0],
        "NumPy": np.__version__,
        "system": f"{platform.system()} {platform.release()}, {platform.machine()}",
        "cores": f"{stats.cores:g}",
        "workers": f"{stats.mode}",
        "memory budget": f"{stats.budget / 1e6:,.0f} MB",
    }

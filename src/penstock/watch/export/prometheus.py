"""The counts of a run for Prometheus, by its library."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from penstock.core.lazy import require
from penstock.watch.stats import names
from penstock.watch.viewers import NEVER

if TYPE_CHECKING:
    from penstock.watch.stats import Stats
    from penstock.watch.trace.spans import Span
    from penstock.watch.viewers import Moment

LABELS = ["pipeline"]
SAME_NAME = "to_prometheus(): another pass is called %r; the counts are those of the pass that was added last"


class RegisteredPasses:
    """The collector of all passes in one registry: a metric comes once, with a sample for each pipeline."""

    def __init__(self, registry: Any) -> None:
        self._lock = threading.Lock()
        self._viewers: dict[str, PrometheusViewer] = {}  # by the name of the pipeline
        registry.register(self)

    def describe(self) -> list[Any]:
        """Return no names: nobody knows them before the passes begin."""
        return []

    def collect(self) -> Iterator[Any]:
        """Yield the metrics of this moment."""
        with self._lock:
            viewers = list(self._viewers.values())
        merged: dict[str, Any] = {}
        for viewer in viewers:
            for family in viewer.families():
                merged.setdefault(family.name, family)
                if merged[family.name] is not family:
                    merged[family.name].samples.extend(family.samples)
        yield from merged.values()

    def add(self, name: str, viewer: PrometheusViewer) -> None:
        """Add a pass, in place of another of the same name."""
        with self._lock:
            before = self._viewers.pop(name, None)
            self._viewers[name] = viewer
        if before is not None and before.is_alive:
            logging.getLogger("penstock").warning(SAME_NAME, name)

    def remove(self, name: str, viewer: PrometheusViewer) -> None:
        """Remove a pass, unless another has taken its place."""
        with self._lock:
            if self._viewers.get(name) is viewer:
                del self._viewers[name]


_passes: WeakKeyDictionary[Any, RegisteredPasses] = WeakKeyDictionary()  # by registry
_making = threading.Lock()


def _passes_of(registry: Any) -> RegisteredPasses:
    with _making:
        if registry not in _passes:
            _passes[registry] = RegisteredPasses(registry)
        return _passes[registry]


class PrometheusViewer:
    """The counts of one pass, which are read whenever they are scraped, and leave the registry at its end.

    The counters of the next pass begin at zero, as those of a restarted process do.
    """

    due = NEVER

    def __init__(self, stats: Callable[[], Stats | None], pipeline: str, registry: Any = None) -> None:
        self._families = require("prometheus_client.core", extra="prometheus", purpose="to_prometheus()")
        self._stats = stats
        self._pipeline = _as_utf_8(pipeline)
        self._is_over = False
        self._passes = _passes_of(self._families.REGISTRY if registry is None else registry)
        self._passes.add(self._pipeline, self)

    @property
    def is_alive(self) -> bool:
        """True until the pass is over or its iterator is gone."""
        return not self._is_over and self._stats() is not None

    def families(self) -> Iterator[Any]:
        """Yield the metrics of this moment."""
        stats = None if self._is_over else self._stats()
        if stats is None:
            return
        counter, gauge = self._families.CounterMetricFamily, self._families.GaugeMetricFamily
        for make, name, text, value in (
            (counter, "penstock_items", "Items received by the consumer", stats.items),
            (counter, "penstock_rows", "Elements in the items received", stats.rows),
            (counter, "penstock_waited_seconds", "Seconds that the consumer waited", stats.waited),
            (counter, "penstock_stepped_seconds", "Seconds that the consumer used its items", stats.stepped),
            (counter, "penstock_events", "Events of the run, such as workers that died", len(stats.events)),
            (gauge, "penstock_workers", "Workers that make the items", stats.workers),
            (gauge, "penstock_tasks_under_way", "Tasks under way", stats.ahead),
            (gauge, "penstock_batches_bytes", "Memory of batches", stats.live_bytes),
        ):
            family = make(name, text, labels=LABELS)
            family.add_metric([self._pipeline], value)
            yield family
        held = gauge("penstock_held_bytes", "Memory that parts of the run hold", labels=[*LABELS, "kind"])
        for kind in ("ahead", "buffer", "cache"):
            held.add_metric([self._pipeline, kind], sum(each.bytes for each in stats.held if each.kind == kind))
        yield held
        work = counter(
            "penstock_work_seconds", "Seconds in an operation, over all workers", labels=[*LABELS, "operation"]
        )
        for name, operation in zip(names(stats.operations), stats.operations, strict=True):
            work.add_metric([self._pipeline, _as_utf_8(name)], operation.wall)
        yield work

    def look(self, moment: Moment, spans: list[Span]) -> None:
        """Do nothing: counts are read when they are scraped."""

    def close(self, last: Stats | None, spans: list[Span]) -> None:
        """Leave the registry."""
        self._is_over = True
        self._passes.remove(self._pipeline, self)


def _as_utf_8(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode("utf-8")

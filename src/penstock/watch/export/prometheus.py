"""The counts of a run for Prometheus, by its library."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from penstock.core.lazy import require
from penstock.watch.export.figures import names

if TYPE_CHECKING:
    from penstock.watch.stats import Stats
    from penstock.watch.trace.spans import Span
    from penstock.watch.viewers import Moment

LABELS = ["pipeline"]


class PrometheusViewer:
    """A collector of one pass, which reads its counts whenever they are scraped, and leaves the registry at its end.

    The counters of the next pass begin at zero, as those of a restarted process do.
    """

    def __init__(self, stats: Callable[[], Stats | None], pipeline: str, registry: Any = None) -> None:
        self._families = require("prometheus_client.core", extra="prometheus", purpose="to_prometheus()")
        self._registry = self._families.REGISTRY if registry is None else registry
        self._stats = stats
        self._pipeline = pipeline
        self._is_over = False
        self._registry.register(self)

    def describe(self) -> list[Any]:
        """Return no names, so that several pipelines may have the same ones."""
        return []

    def collect(self) -> Iterator[Any]:
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
            work.add_metric([self._pipeline, name], operation.wall)
        yield work

    def look(self, moment: Moment, spans: list[Span]) -> None:
        """Do nothing: counts are read when they are scraped."""

    def close(self, last: Stats | None, spans: list[Span]) -> None:
        """Leave the registry."""
        self._is_over = True
        self._registry.unregister(self)

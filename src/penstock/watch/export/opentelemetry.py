"""The counts of a run for OpenTelemetry, by its library."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from penstock.core.lazy import require
from penstock.watch.stats import names
from penstock.watch.viewers import NEVER

if TYPE_CHECKING:
    from penstock.watch.stats import Stats
    from penstock.watch.trace.spans import Span
    from penstock.watch.viewers import Moment

Attributes = dict[str, str]
ReadFigures = Callable[["Stats"], "Iterable[tuple[float, Attributes]]"]


def _one(field: str) -> ReadFigures:
    return lambda stats: [(getattr(stats, field), {})]


def _held(stats: Stats) -> Iterable[tuple[float, Attributes]]:
    for kind in ("ahead", "buffer", "cache"):
        yield sum(each.bytes for each in stats.held if each.kind == kind), {"kind": kind}


def _work(stats: Stats) -> Iterable[tuple[float, Attributes]]:
    for name, operation in zip(names(stats.operations), stats.operations, strict=True):
        yield operation.wall, {"operation": name}


INSTRUMENTS: list[tuple[str, str, str, str, ReadFigures]] = [
    ("counter", "penstock.items", "1", "Items received by the consumer", _one("items")),
    ("counter", "penstock.rows", "1", "Elements in the items received", _one("rows")),
    ("counter", "penstock.waited", "s", "Time that the consumer waited", _one("waited")),
    ("counter", "penstock.stepped", "s", "Time that the consumer used its items", _one("stepped")),
    ("counter", "penstock.work", "s", "Time in an operation, over all workers", _work),
    ("gauge", "penstock.workers", "1", "Workers that make the items", _one("workers")),
    ("gauge", "penstock.tasks_under_way", "1", "Tasks under way", _one("ahead")),
    ("gauge", "penstock.batches", "By", "Memory of batches", _one("live_bytes")),
    ("gauge", "penstock.held", "By", "Memory that parts of the run hold", _held),
]
"""Kind, name, unit, description, and the values with their attributes."""


class _Passes:
    """The passes under way that one meter observes: its instruments are made once, since a name is taken for good."""

    def __init__(self, meter: Any, observation: Any) -> None:
        self.under_way: dict[int, tuple[str, Callable[[], Stats | None]]] = {}
        self._observation = observation
        for kind, name, unit, description, read in INSTRUMENTS:
            make = getattr(meter, f"create_observable_{kind}")
            make(name, callbacks=[partial(self._observed, read)], unit=unit, description=description)

    def _observed(self, read: ReadFigures, options: Any) -> list[Any]:
        found: list[Any] = []
        for pipeline, stats_of in list(self.under_way.values()):
            stats = stats_of()
            if stats is not None:
                found += [self._observation(value, {"pipeline": pipeline, **more}) for value, more in read(stats)]
        return found


_passes: WeakKeyDictionary[Any, _Passes] = WeakKeyDictionary()  # by meter, like the meters of the process
_lock = threading.Lock()


class OpenTelemetryViewer:
    """A pass that a meter observes whenever its figures are exported, until the pass is over."""

    due = NEVER

    def __init__(self, stats: Callable[[], Stats | None], pipeline: str, meter: Any = None) -> None:
        metrics = require("opentelemetry.metrics", extra="opentelemetry", purpose="to_opentelemetry()")
        meter = metrics.get_meter("penstock") if meter is None else meter
        with _lock:
            if meter not in _passes:
                _passes[meter] = _Passes(meter, metrics.Observation)
            self._passes = _passes[meter]
        self._passes.under_way[id(self)] = pipeline, stats

    def look(self, moment: Moment, spans: list[Span]) -> None:
        """Do nothing: counts are read when they are exported."""

    def close(self, last: Stats | None, spans: list[Span]) -> None:
        """Be observed no longer."""
        self._passes.under_way.pop(id(self), None)

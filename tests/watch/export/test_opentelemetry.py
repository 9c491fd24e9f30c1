"""Counts for OpenTelemetry, observed by a meter."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace

import pytest

import penstock as ps
from penstock import Dataset


class Meter:
    """A meter that keeps its instruments, as the library's does."""

    def __init__(self):
        self.callbacks = {}

    def create_observable_counter(self, name, callbacks, unit, description):
        assert name not in self.callbacks
        (self.callbacks[name],) = callbacks

    create_observable_gauge = create_observable_counter

    def observed(self, name):
        return [(each.value, each.attributes) for each in self.callbacks[name](None)]


@pytest.fixture
def meter(monkeypatch):
    api = ModuleType("opentelemetry.metrics")
    api.Observation = lambda value, attributes: SimpleNamespace(value=value, attributes=attributes)
    monkeypatch.setitem(sys.modules, "opentelemetry", ModuleType("opentelemetry"))
    monkeypatch.setitem(sys.modules, "opentelemetry.metrics", api)
    return Meter()


def test_passes_are_observed_until_they_are_over(meter):
    first, second = Dataset.range(9).batch(3).iterator(), Dataset.range(9).iterator()
    first.to_opentelemetry("train", meter=meter)
    second.to_opentelemetry("test", meter=meter)
    next(first)
    assert meter.observed("penstock.items") == [(1, {"pipeline": "train"}), (0, {"pipeline": "test"})]
    assert meter.observed("penstock.rows")[0] == (3, {"pipeline": "train"})
    assert [told["kind"] for _, told in meter.observed("penstock.held")] == 2 * ["ahead", "buffer", "cache"]
    assert {told["operation"] for _, told in meter.observed("penstock.work")} == {"range(9)", "batch(3)"}
    list(first)
    assert meter.observed("penstock.items") == [(0, {"pipeline": "test"})]
    del second
    assert meter.observed("penstock.items") == []


def test_a_missing_library_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    monkeypatch.delitem(sys.modules, "opentelemetry.metrics", raising=False)
    with pytest.raises(ps.errors.MissingDependencyError, match=r"pip install 'penstock\[opentelemetry\]'"):
        Dataset.range(9).iterator().to_opentelemetry()


def test_the_library_reads_the_counts():
    sdk = pytest.importorskip("opentelemetry.sdk.metrics")
    export = pytest.importorskip("opentelemetry.sdk.metrics.export")
    reader = export.InMemoryMetricReader()
    provider = sdk.MeterProvider([reader])
    it = Dataset.range(9).batch(3).iterator()
    it.to_opentelemetry("train", meter=provider.get_meter("test"))
    next(it)
    data = reader.get_metrics_data()
    metrics = {each.name: each.data for each in data.resource_metrics[0].scope_metrics[0].metrics}
    assert [point.value for point in metrics["penstock.items"].data_points] == [1]
    provider.shutdown()


def test_a_pipeline_is_named_by_a_text():
    with pytest.raises(TypeError, match=r"to_opentelemetry\(pipeline=5\): expected a string, not int"):
        Dataset.range(9).iterator().to_opentelemetry(5)

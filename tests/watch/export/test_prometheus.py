"""Counts for Prometheus, scraped from a registry."""

from __future__ import annotations

import sys

import pytest

import penstock as ps
from penstock import Dataset

client = pytest.importorskip("prometheus_client")


def scraped(registry):
    return client.generate_latest(registry).decode()


def test_counts_are_those_of_the_moment_and_end_with_the_pass():
    registry = client.CollectorRegistry()
    it = Dataset.range(40).map(str).batch(4).iterator()
    it.to_prometheus("train", registry=registry)
    next(it)
    next(it)
    assert registry.get_sample_value("penstock_items_total", {"pipeline": "train"}) == 2
    assert registry.get_sample_value("penstock_rows_total", {"pipeline": "train"}) == 8
    assert registry.get_sample_value("penstock_held_bytes", {"pipeline": "train", "kind": "cache"}) == 0
    operation = {"pipeline": "train", "operation": "map(str)"}
    assert registry.get_sample_value("penstock_work_seconds_total", operation) > 0
    list(it)
    assert "penstock" not in scraped(registry)


def test_two_pipelines_share_a_registry():
    registry = client.CollectorRegistry()
    first, second = Dataset.range(9).iterator(), Dataset.range(9).iterator()
    first.to_prometheus("train", registry=registry)
    second.to_prometheus("test", registry=registry)
    next(second)
    assert registry.get_sample_value("penstock_items_total", {"pipeline": "train"}) == 0
    assert registry.get_sample_value("penstock_items_total", {"pipeline": "test"}) == 1
    first.close()
    assert registry.get_sample_value("penstock_items_total", {"pipeline": "train"}) is None


def test_a_metric_of_two_pipelines_comes_once_in_every_format():
    openmetrics = pytest.importorskip("prometheus_client.openmetrics")
    from prometheus_client.openmetrics.exposition import generate_latest
    from prometheus_client.openmetrics.parser import text_string_to_metric_families

    assert openmetrics
    registry = client.CollectorRegistry()
    train, test = Dataset.range(9).map(str).iterator(), Dataset.range(9).iterator()
    train.to_prometheus("train\udcff", registry=registry)
    test.to_prometheus("test", registry=registry)
    assert (next(train), next(test)) == ("0", 0)
    assert scraped(registry).count("# TYPE penstock_items_total ") == 1
    parsed = {family.name: family for family in text_string_to_metric_families(generate_latest(registry).decode())}
    assert [sample.labels["pipeline"] for sample in parsed["penstock_items"].samples] == ["train\\udcff", "test"]


def test_of_two_passes_of_one_name_the_last_counts(caplog):
    registry = client.CollectorRegistry()
    first, second = Dataset.range(9).iterator(), Dataset.range(9).iterator()
    first.to_prometheus("train", registry=registry)
    assert next(first) == 0
    second.to_prometheus("train", registry=registry)
    assert "another pass is called 'train'" in caplog.text
    assert scraped(registry).count("penstock_items_total{") == 1
    assert registry.get_sample_value("penstock_items_total", {"pipeline": "train"}) == 0
    first.close()
    assert registry.get_sample_value("penstock_items_total", {"pipeline": "train"}) == 0


def test_an_iterator_that_is_gone_has_no_counts():
    registry = client.CollectorRegistry()
    it = Dataset.range(9).iterator()
    it.to_prometheus(registry=registry)
    next(it)
    del it
    assert "penstock" not in scraped(registry)


def test_a_missing_library_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "prometheus_client.core", None)
    with pytest.raises(ps.errors.MissingDependencyError, match=r"pip install 'penstock\[prometheus\]'"):
        Dataset.range(9).iterator().to_prometheus()


def test_a_pipeline_is_named_by_a_text():
    with pytest.raises(TypeError, match=r"to_prometheus\(pipeline=5\): expected a string, not int"):
        Dataset.range(9).iterator().to_prometheus(5)

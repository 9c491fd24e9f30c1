"""Reports of runs."""

from __future__ import annotations

import gzip
import logging
import os
import queue

import numpy as np
import pytest

from penstock import Dataset, Options
from penstock.watch.page import viewer
from penstock.watch.page.facts import CostlyTask
from penstock.watch.page.viewer import ReportViewer, mixing_of, source_length, source_order


def reported(ds, path):
    with ds.iterator() as it:
        it.report(path)
        assert not path.exists()
        for _ in it:
            pass
    return path.read_text("utf-8")


@pytest.mark.parametrize("options", [Options(executor="inline"), Options(executor="threads", workers=2)], ids=str)
def test_a_report_shows_the_run(tmp_path, options):
    ds = Dataset.from_source([f"photo {n}" for n in range(24)]).shuffle(seed=0).map(str.upper).batch(4)
    html = reported(ds.with_options(options), tmp_path / "run.html")
    assert "map(str.upper)" in html or "map(upper)" in html
    assert ">consumer waits</text>" in html
    assert "of list" in html  # records of the slowest tasks
    assert "PHOTO" in html  # of the sample
    assert "Mixing" in html


def test_a_stream_has_a_report_too(tmp_path):
    html = reported(Dataset.from_generator(lambda: iter(range(8))).map(lambda x: x * 2).batch(2), tmp_path / "run.html")
    assert "from_generator" in html
    assert "Mixing" not in html


def test_a_report_of_a_pass_under_way_is_written_at_once(tmp_path):
    it = Dataset.range(24).batch(4).iterator()
    next(it)
    it.report(tmp_path / "run.html")
    assert "call report() before the first item" in (tmp_path / "run.html").read_text("utf-8")
    assert len(list(it)) == 5


def test_a_report_of_a_failed_run_shows_what_was_received(tmp_path):
    it = Dataset.range(8).map(lambda x: 1 // (4 - x)).batch(1).iterator()
    it.report(tmp_path / "run.html")
    with pytest.raises(ZeroDivisionError):
        list(it)
    assert "4 batches" in (tmp_path / "run.html").read_text("utf-8")


def test_a_page_that_cannot_be_written_does_not_end_the_run(tmp_path, caplog):
    it = Dataset.range(8).iterator()
    it.report(tmp_path / "none" / "run.html")
    with caplog.at_level(logging.WARNING):
        assert len(list(it)) == 8
    assert caplog.text.count("cannot be written, and the run goes on") == 1


def test_a_page_on_a_full_disk_leaves_the_one_before_and_is_said(tmp_path, caplog, monkeypatch):
    def fail(*_):
        raise OSError(28, "No space left on device")

    path = tmp_path / "run.html"
    path.write_text("of the run before")
    it = Dataset.range(8).iterator()
    it.report(path)
    monkeypatch.setattr("os.replace", fail)
    list(it)
    assert "No space left" in caplog.text
    assert [each.read_text() for each in tmp_path.iterdir()] == ["of the run before"]


@pytest.mark.parametrize("name", ["run.html.gz", "RUN.HTML.GZ"])
def test_a_page_whose_name_ends_with_gz_is_packed(name, tmp_path):
    it = Dataset.range(8).iterator()
    it.report(tmp_path / name)
    list(it)
    assert gzip.decompress((tmp_path / name).read_bytes()).startswith(b"<!doctype html>")


def test_a_page_that_cannot_be_written_is_said_before_the_run(tmp_path, caplog):
    it = Dataset.range(8).iterator()
    it.report(tmp_path)
    assert f"the report {tmp_path} cannot be written" in caplog.text
    (tmp_path / "kept.html").write_text("of the run before")
    it.report(tmp_path / "kept.html")
    assert (tmp_path / "kept.html").read_text() == "of the run before"
    with pytest.raises(ValueError, match="null"):
        it.report("run\0.html")


def test_names_that_are_not_utf_8_are_shown_escaped(tmp_path):
    for n in range(4):
        with open(os.path.join(os.fsencode(tmp_path), b"name \xff %d" % n), "wb") as file:
            file.write(b"data")
    html = reported(Dataset.list_files(f"{tmp_path}/name*").map(lambda name: name).batch(2), tmp_path / "run.html")
    assert "name \\udcff 0" in html


def test_a_page_does_not_wait_for_a_sample_without_end(tmp_path, monkeypatch):
    monkeypatch.setattr(viewer, "SAMPLE_SECONDS", 0.05)
    live: queue.Queue[int] = queue.Queue()

    def received():
        while (item := live.get()) is not None:
            yield item

    for n in range(4):
        live.put(n)
    it = Dataset.from_generator(received).batch(2).with_options(Options(executor="inline")).iterator()
    it.report(tmp_path / "run.html")
    assert [next(it).tolist(), next(it).tolist()] == [[0, 1], [2, 3]]
    it.close()
    live.put(None)
    assert "No element could be made within 0.05 s" in (tmp_path / "run.html").read_text("utf-8")


def test_a_report_shows_the_plan_as_run(tmp_path):
    ds = Dataset.range(64).skip(2).skip(1).batch(2)
    assert "merge_skips" in reported(ds, tmp_path / "run.html")
    assert "rewrites: none" in reported(ds.with_options(Options(rewrite=False)), tmp_path / "plain.html")


def test_the_items_of_a_slow_task_are_named_without_the_next(tmp_path):
    plan = Dataset.range(12).batch(4)._plan
    words = ReportViewer(tmp_path / "run.html", plan, lambda: "")._words
    assert "batches 0 to 1 of" in words(CostlyTask(1, "batch(4)", 0, 2))
    assert "batch 2 of" in words(CostlyTask(1, "batch(4)", 2, 1))


def test_samples_are_shown_side_by_side_and_only_expensive_records_are_named(tmp_path):
    ds = Dataset.range(8).map(lambda x: {"label": x, "ids": [int(x)] * 30}).map(lambda x: x, vectorized=False)
    html = reported(ds, tmp_path / "run.html")
    assert html.count("<figure class=card>") == 4
    assert "tokens" in html  # the list is one part
    assert "records in map" not in html


def test_a_sample_that_cannot_be_made_is_told(tmp_path):
    calls = []

    def once(x):
        calls.append(x)
        if len(calls) > 4:
            raise ValueError("<only once>")
        return x

    html = reported(Dataset.range(4).map(once).batch(1).with_options(Options(executor="inline")), tmp_path / "run.html")
    assert "ValueError: &lt;only once&gt;" in html


def test_the_order_is_that_of_the_source():
    ds = Dataset.range(1000)
    shuffled = ds.shuffle(seed=0).batch(7)._plan
    assert source_length(shuffled) == 1000
    assert mixing_of(source_order(ds._plan), 1000) == pytest.approx(0)
    assert mixing_of(source_order(shuffled), 1000) > 0.9
    assert mixing_of(source_order(Dataset.range(5)._plan), 5) == pytest.approx(0)
    assert source_order(ds.concatenate(ds)._plan) == []
    assert source_order(ds.filter(lambda x: x > 3)._plan) == []
    assert source_order(Dataset.range(0)._plan) == []
    assert mixing_of([0.5], 9) is None
    assert mixing_of([0.0, 0.5], 2) is None
    assert mixing_of(np.random.default_rng(0).random(5000).tolist(), 5000) > 0.9


def test_the_slowest_records_are_named(tmp_path, monkeypatch):
    monkeypatch.setattr("penstock.watch.trace.spans.LEAST_TIMED", 0)
    names = [f"photo {n}" for n in range(24)]
    for ds in (
        Dataset.from_source(names).shuffle(seed=0).map(str.upper).batch(4),
        Dataset.from_source(names).shuffle(seed=0).filter(bool).map(str.upper).batch(4),
    ):
        html = reported(ds, tmp_path / "run.html")
        (tmp_path / "run.html").unlink()
        (told,) = (part for part in html.split("<p>") if "24 records" in part)
        assert "map(upper)" in told or "map(str.upper)" in told
        assert " of list</li>" in told
        assert "Records by what they cost" in html

"""The calls of an iterator that watch its run; what they write is tested beside the viewers."""

from __future__ import annotations

import json
import math
import threading

import pytest

import penstock as ps
from penstock import Dataset
from penstock.watch import verdict


def test_stats_and_the_verdict_are_those_of_the_pass(monkeypatch):
    monkeypatch.setattr(verdict, "LEAST_SECONDS", math.inf)
    it = Dataset.range(6).batch(2).iterator()
    assert len(list(it)) == 3
    assert (it.stats().items, it.stats().rows) == (3, 6)
    assert it.verdict().startswith("Too early to say")


def test_calls_that_watch_from_the_beginning_refuse_a_pass_under_way(tmp_path):
    it = Dataset.range(6).iterator()
    next(it)
    with pytest.raises(ps.errors.PlanError, match=r"trace\(\): the pass has begun"):
        it.trace(tmp_path / "run.json")
    assert list(tmp_path.iterdir()) == []


def failing(x):
    if x == 17:
        raise ValueError("no <b> such file caf\udce9")
    return x


@pytest.mark.parametrize("executor", ["inline", "threads"])
def test_a_pass_that_failed_says_so_wherever_it_is_shown(executor, tmp_path):
    ds = Dataset.range(40).map(failing).batch(4).with_options(ps.Options(executor=executor))
    it = ds.iterator()
    it.report(tmp_path / "run.html")
    it.trace(tmp_path / "run.json")
    it.to_tensorboard(tmp_path)
    with pytest.raises(ValueError, match="no <b> such"):
        list(it)
    first, *notes = it.stats().failure.splitlines()
    assert first == "ValueError: no <b> such file caf\udce9"
    assert notes[0] == "in map(failing), at row 17"
    page = (tmp_path / "run.html").read_text("utf-8")
    assert "<b>Failed.</b> ValueError: no &lt;b&gt; such file caf\\udce9\nin map(failing), at row 17" in page
    (failed,) = (each for each in json.loads((tmp_path / "run.json").read_text()) if each.get("cat") == "failure")
    assert "in map(failing), at row 17" in failed["args"]["error"]
    (events,) = (tmp_path / "penstock").iterdir()
    assert b"in map(failing), at row 17" in events.read_bytes()
    assert "failed: ValueError: no <b> such file" in repr(it.stats())
    assert "failed: ValueError: no &lt;b&gt; such file" in it._repr_html_()
    it.report(tmp_path / "after.html")
    assert "<b>Failed.</b> ValueError" in (tmp_path / "after.html").read_text("utf-8")


def test_a_pass_that_did_not_fail_has_no_failure():
    it = Dataset.range(4).iterator()
    assert [len(list(it)), it.stats().failure] == [4, ""]


def test_an_error_without_text_is_told_by_its_type():
    class OddError(Exception):
        def __str__(self):
            raise RuntimeError

    def odd(x):
        raise OddError

    it = Dataset.range(4).map(odd).iterator()
    with pytest.raises(OddError):
        next(it)
    assert it.stats().failure.startswith("OddError\nin map(odd), at row 0")


def test_another_thread_sees_that_the_consumer_waits():
    entered, leave = threading.Event(), threading.Event()

    def stall(x):
        entered.set()
        assert leave.wait(60)
        return x

    it = Dataset.range(1).map(stall).iterator()
    consumer = threading.Thread(target=lambda: list(it))
    consumer.start()
    assert entered.wait(60)
    first = it.stats()
    second = it.stats()
    leave.set()
    consumer.join()
    assert 0 < first.waited < second.waited
    assert first.wait_share == second.wait_share == 1.0


def test_a_run_is_explained_with_its_figures():
    it = Dataset.range(12).skip(1).skip(1).map(str).batch(5).iterator()
    assert "as run, not begun; 0 elements:" in it.explain()
    assert len(list(it)) == 2
    text = it.explain()
    assert text.index("as written:") < text.index("as run, inline; 2 batches:") < text.index("rewrites: merge_skips")
    figures = {line.split()[0]: line.split("×")[1].split()[1:] for line in text.splitlines()[8:12]}
    assert list(figures) == ["range(12)", "skip(2)", "map(str)", "batch(5)"]
    assert [int(rows) for rows, *_ in figures.values()] == [10, 10, 10, 2]
    assert sum(int(share) for _, _, share, *_ in figures.values()) in range(98, 103)


def test_a_report_to_what_is_no_path_is_refused_with_the_call():
    with pytest.raises(TypeError, match=r"report\(path=5\): expected a path, not int"):
        ps.Dataset.range(3).iterator().report(5)

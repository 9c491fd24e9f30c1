"""The trace of a run, read back as a browser reads it."""

from __future__ import annotations

import base64
import gzip
import json
import logging
import os
import re
import signal
import subprocess
import sys
import textwrap
from itertools import pairwise

import pytest

import penstock as ps
from penstock import Dataset, Options
from penstock.watch.trace import viewer
from tests.chromium import document


def slow(x):
    return sum(range(20_000)) + x


def read(path):
    return json.loads(gzip.decompress(path.read_bytes()))


def traced(ds, path, after=None):
    with ds.iterator() as it:
        it.trace(path)
        for item in it:
            if after is not None:
                after(it, item)
    return read(path)


def test_the_consumer_waits_and_steps_by_turns(tmp_path):
    events = traced(Dataset.range(12).batch(4).with_options(Options(executor="threads", workers=2)), tmp_path / "a.gz")
    of_consumer = [event for event in events if event.get("cat") in ("wait", "step")]
    assert [event["cat"] for event in of_consumer[:3]] == ["wait", "step", "wait"]
    steps = [event["name"] for event in of_consumer if event["cat"] == "step"]
    assert sum(int(name.split()[2]) for name in steps) == 3
    for before, after in pairwise(of_consumer):
        assert before["ts"] + before["dur"] <= after["ts"] + 1e-3


def test_workers_have_tracks_with_names_and_decisions_are_marked(tmp_path):
    ds = Dataset.range(64).map(slow).batch(4).with_options(Options(executor="threads", workers=2))
    events = traced(ds, tmp_path / "a.gz")
    names = {event["tid"]: event["args"]["name"] for event in events if event["name"] == "thread_name"}
    assert "consumer" in names.values()
    assert any(name.startswith("worker") for name in names.values())
    tasks = [event for event in events if event.get("cat") in ("task", "part")]
    assert {names[event["tid"]].split()[0] for event in tasks} == {"worker"}
    rows = sum(event["args"]["rows"] * (4 if event["cat"] == "task" else 1) for event in tasks)
    assert 0 < rows <= 64  # some are left out if there are many in a short time
    assert {event["args"]["first item"] for event in tasks} <= set(range(16))
    assert [event["name"] for event in events if event.get("cat") == "decision"] == ["2 threads: as requested"]
    held = [event["args"] for event in events if event["name"] == "memory held (MB)"]
    assert held
    assert set(held[0]) == {"ahead", "buffer", "cache"}


def test_events_of_the_run_are_marked(tmp_path, monkeypatch):
    monkeypatch.setattr(viewer, "SAMPLE_PAUSE", 0)

    def note(it, _):
        if not it._run.session.events:
            it._run.session.events.append(ps.RunEvent(0.0, "stuck", "map(f)", None, "nothing moves"))

    events = traced(Dataset.range(400).batch(1).with_options(Options(executor="threads")), tmp_path / "a.gz", note)
    assert [(e["name"], e["args"]["words"]) for e in events if e.get("cat") == "event"] == [("stuck", "nothing moves")]


def test_a_trace_that_cannot_be_written_does_not_end_the_run(tmp_path, caplog):
    it = Dataset.range(9).iterator()
    with caplog.at_level(logging.WARNING):
        it.trace(tmp_path / "none" / "run.json")
        assert list(it) == list(range(9))
    assert len(caplog.records) == 1


def test_a_trace_ends_when_it_is_full(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(viewer, "MOST_TRACED", 5)
    with caplog.at_level(logging.WARNING):
        events = traced(Dataset.range(64).batch(1), tmp_path / "a.gz")
    assert len(events) == 5
    assert "full at 5 events" in caplog.text


def test_a_pass_under_way_cannot_be_traced(tmp_path):
    it = Dataset.range(9).iterator()
    next(it)
    with pytest.raises(ps.errors.PlanError, match="before the first item"):
        it.trace(tmp_path / "run.json")
    with pytest.raises(TypeError):
        Dataset.range(9).iterator().trace(3)


def test_a_position_may_be_loaded_after_the_trace_was_asked_for(tmp_path):
    ds = Dataset.range(12).map(slow)
    it = ds.iterator()
    next(it)
    again = ds.iterator()
    again.trace(tmp_path / "a.gz")
    again.load_state_dict(it.state_dict())
    assert len(list(again)) == 11
    assert any(event.get("cat") in ("task", "part") for event in read(tmp_path / "a.gz"))


def test_a_dropped_iterator_leaves_a_whole_file(tmp_path):
    it = Dataset.range(40).map(slow).batch(2).iterator()
    it.trace(tmp_path / "a.gz")
    next(it)
    del it
    assert any(event.get("cat") in ("task", "part") for event in read(tmp_path / "a.gz"))


def test_a_killed_process_leaves_a_readable_file(tmp_path):
    path = tmp_path / "a.gz"
    program = f"""
        import os, signal
        import penstock as ps
        from penstock.watch.trace import viewer
        viewer.FLUSH_PAUSE = 0
        it = ps.Dataset.range(10**6).batch(2).iterator()
        it.trace({str(path)!r})
        for number, batch in enumerate(it):
            if number == 5000:
                os.kill(os.getpid(), signal.SIGKILL)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert any(event.get("cat") == "wait" for event in read(path))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_leaves_the_file_to_its_parent(tmp_path):
    path = tmp_path / "a.gz"
    program = f"""
        import os
        import penstock as ps
        it = ps.Dataset.range(40).batch(2).with_options(ps.Options(executor="inline")).iterator()
        it.trace({str(path)!r})
        next(it)
        before = open({str(path)!r}, "rb").read()
        if os.fork() == 0:
            list(it)
            it.close()
            os._exit(0)
        os.wait()
        assert open({str(path)!r}, "rb").read() == before
        list(it)
    """
    subprocess.run([sys.executable, "-W", "ignore", "-c", textwrap.dedent(program)], check=True)
    assert any(event.get("cat") == "wait" for event in read(path))


def test_chromium_reads_a_trace(tmp_path):
    events = traced(Dataset.range(24).map(slow).batch(4), tmp_path / "a.gz")
    packed = base64.b64encode((tmp_path / "a.gz").read_bytes()).decode()
    page = tmp_path / "page.html"
    page.write_text(
        f"""<title>none</title><script type="module">
        const bytes = Uint8Array.from(atob("{packed}"), c => c.charCodeAt(0));
        const text = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
        const events = await new Response(text).json();
        document.title = `${{events.length}} events, ${{events.filter(e => e.cat == "task").length}} tasks`;
        </script>"""
    )
    tasks = sum(event.get("cat") == "task" for event in events)
    title = re.search("<title>(.*)</title>", document(page, tmp_path / "profile"))
    assert title
    assert title[1] == f"{len(events)} events, {tasks} tasks"

"""Passes that are shown while they are under way."""

from __future__ import annotations

import gc
import io
import sys
import threading
import weakref

import pytest

import penstock as ps
from penstock import Dataset
from penstock.watch.live import viewer as viewers
from penstock.watch.live.display import Display, display
from penstock.watch.live.view import Style
from penstock.watch.live.viewer import IDLE_AFTER, LiveViewer
from tests.terminals import FakeTerminal, on_terminal
from tests.watch.live.test_view import Glance, stats

PROGRAM = """
import penstock as ps
from penstock.watch.live.display import display

def wait_until_shown(x):
    display.draw()
    return x

ds = ps.Dataset.range(12).map(wait_until_shown).batch(2).with_options(ps.Options(executor="inline"))
for batch in ds.progress("train", details=True):
    print("loss", int(batch[0]))
print("end")
"""


@pytest.fixture(autouse=True)
def nothing_left():
    yield
    assert display.thread is None or not display.thread.is_alive()
    assert not display._views


def test_a_program_on_a_terminal_keeps_its_prints_and_one_line():
    status, output = on_terminal(["-c", PROGRAM])
    assert status == 0
    assert "map(wait_until_shown)" in output
    terminal = FakeTerminal(columns=100)
    terminal.write(output.replace("\x1b[0m", ""))
    *prints, last, end = terminal.lines
    assert prints == [f"loss {number}" for number in range(0, 12, 2)]
    assert last.startswith("train: 6 batches in 0:0")
    assert end == "end"


def test_a_view_shows_nothing_before_the_pass_and_is_removed_by_its_end(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    terminal, it = FakeTerminal(), Dataset.range(6).batch(2).iterator()
    it.live("train", file=terminal)
    display.draw()
    assert terminal.lines == []
    next(it)
    display.draw()
    assert terminal.lines[1].startswith("train  1/3 batches · 33 %")
    assert len(list(it)) == 2
    assert [line[:22] for line in terminal.lines] == ["train: 3 batches in 0:"]
    assert display.thread is None or not display.thread.is_alive()


@pytest.mark.parametrize("end", ["closed", "failed", "dropped"])
def test_a_view_ends_with_its_pass_however_that_ends(end):
    file = io.StringIO()
    it = Dataset.range(6).map(lambda x: 1 // (3 - x)).batch(1).iterator()
    it.live(file=file)
    next(it)
    display.draw()
    if end == "closed":
        it.close()
    elif end == "failed":
        with pytest.raises(ZeroDivisionError):
            list(it)
    else:
        gone = weakref.ref(it)
        del it
        gc.collect()
        assert gone() is None
    display.draw()
    assert not display._views
    assert (" of 6 batches in 0:0" in file.getvalue()) == (end != "dropped" or bool(file.getvalue()))


def test_leave_false_leaves_nothing():
    file, it = io.StringIO(), Dataset.range(6).iterator()
    it.live(file=file, leave=False)
    assert len(list(it)) == 6
    assert file.getvalue() == ""


def test_a_pass_that_never_began_says_nothing():
    file, it = io.StringIO(), Dataset.range(6).iterator()
    it.live(file=file)
    it.close()
    assert file.getvalue() == ""


def test_a_stalled_pipeline_is_shown_with_the_operation_it_waits_for(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(ps.watch.live.view, "LONG_WAIT_TOLD", 0.0)
    entered, leave = threading.Event(), threading.Event()

    def stall(x):
        entered.set()
        assert leave.wait(60)
        return x

    it = Dataset.range(4).map(stall).iterator()
    terminal = FakeTerminal(columns=150)
    monkeypatch.setenv("COLUMNS", "150")
    it.live(file=terminal)
    consumer = threading.Thread(target=lambda: list(it))
    consumer.start()
    assert entered.wait(60)
    display.draw()
    shown = terminal.lines
    leave.set()
    consumer.join()
    assert shown[-1] == "   has waited 0:00 for the next element, in map(stall)"
    assert "waiting 100 %" in shown[2]


def viewer_of(glances, **settings):
    made = iter(glances)
    return LiveViewer(lambda: next(made), stream=io.StringIO(), on=Display(), **settings)


def test_rates_are_those_of_the_last_seconds():
    seconds = [0.0, 5.0, 10.0, 15.0, 20.0]
    glances = [Glance(stats(items=round(each**2), waited=0.0, stepped=each)) for each in seconds]
    viewer = viewer_of(glances, details=False)
    shown = [viewer.lines(200, Style())[0] for _ in seconds]
    viewer._on.remove(viewer, "")
    assert "30 batches/s" in shown[-1], "(20² − 10²) / 10"


def test_a_state_that_is_loaded_begins_the_rates_anew():
    glances = [Glance(stats(items=100)), Glance(stats(items=2, waited=0.0, stepped=1.0))]
    viewer = viewer_of(glances, details=False)
    shown = [viewer.lines(200, Style())[0] for _ in glances]
    viewer._on.remove(viewer, "")
    assert "2 batches/s" in shown[-1]


def test_nothing_is_shown_during_a_very_long_step():
    later = 4.0 + IDLE_AFTER + 1
    glances = [
        Glance(stats()),
        Glance(stats(stepped=later)),
        Glance(stats(waited=later, stepped=later), waiting=later),
        Glance(stats(items=11, waited=later, stepped=later)),
    ]
    viewer = viewer_of(glances)
    shown = [bool(viewer.lines(100, Style())) for _ in glances]
    viewer._on.remove(viewer, "")
    assert shown == [True, False, True, True]
    assert viewers.RECENT_SECONDS < IDLE_AFTER


def test_live_is_for_the_beginning_of_a_pass():
    it = Dataset.range(6).iterator()
    next(it)
    with pytest.raises(ps.errors.PlanError, match=r"live\(\): the pass has begun"):
        it.live(file=sys.stderr)

"""The thread that draws views: what it shows where, and when it is there."""

from __future__ import annotations

import io
import os
import threading

import pytest

from penstock.watch.live import display as displays
from penstock.watch.live.display import Display
from tests.terminals import FakeTerminal


class Shown:
    """A view of fixed lines, which notes that it was asked for them."""

    def __init__(self, *lines):
        self.shown = lines
        self.asked = threading.Event()

    def lines(self, width, style):
        self.asked.set()
        return list(self.shown)

    def line(self, width):
        self.asked.set()
        return self.shown[0] if self.shown else ""


@pytest.fixture
def display(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    made = Display()
    yield made
    if (thread := made.thread) is not None:
        thread.join(60)
        assert not thread.is_alive()


def test_several_views_share_a_terminal_and_end_one_by_one(display):
    terminal, first, second = FakeTerminal(), Shown("a", "b"), Shown("c")
    display.add(first, terminal)
    display.add(second, terminal)
    display.draw()
    assert terminal.lines == ["", "a", "b", "c"]
    display.remove(first, "first is over")
    assert terminal.lines == ["first is over", "", "c"]
    display.remove(second, "")
    assert terminal.lines == ["first is over"]
    display.remove(second, "again")
    assert terminal.lines == ["first is over"]


def test_the_thread_draws_by_itself_and_ends_with_the_last_view(display):
    view = Shown("a")
    display.add(view, FakeTerminal())
    assert view.asked.wait(60)
    thread = display.thread
    display.remove(view, "")
    assert not thread.is_alive()


def test_a_file_gets_a_line_now_and_then_and_the_last_one(display, monkeypatch):
    now = 1000.0
    monkeypatch.setattr(displays, "monotonic", lambda: now)
    file, view = io.StringIO(), Shown("a")
    display.add(view, file)
    display.draw()
    assert file.getvalue() == ""
    now += displays.PRINT_PAUSE
    display.draw()
    display.draw()
    assert file.getvalue() == "a\n"
    view.shown = ()  # nothing to say
    now += displays.PRINT_PAUSE
    display.draw()
    display.remove(view, "last")
    assert file.getvalue() == "a\nlast\n"


def test_a_stream_that_is_closed_ends_its_views(display):
    file, view = FakeTerminal(), Shown("a")
    display.add(view, file)

    def write(text):
        raise ValueError("I/O operation on closed file")

    file.write = write
    display.draw()
    display.remove(view, "last")
    display.remove(view, "last")


def test_a_view_that_is_removed_while_another_is_drawn(display):
    """The garbage collector may remove a view at any moment, in the thread that draws."""
    terminal, gone = FakeTerminal(), Shown("gone")

    class Removing(Shown):
        def lines(self, width, style):
            display.remove(gone, "gone is over")
            return super().lines(width, style)

    view = Removing("stays")
    display.add(gone, terminal)
    display.add(view, terminal)
    display.draw()
    assert terminal.lines == ["gone is over", "", "stays"]
    display.remove(view, "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_the_thread_is_gone_during_a_fork_and_goes_on_after_it(display):
    view = Shown("a")
    display.add(view, FakeTerminal())
    display.before_fork()
    assert display.thread is None
    view.asked.clear()
    display.after_fork_in_parent()
    assert view.asked.wait(60)
    display.remove(view, "")


def test_a_child_has_no_views(display):
    view = Shown("a")
    display.add(view, FakeTerminal())
    display.before_fork()
    display.after_fork_in_child()
    assert display.thread is None
    display.remove(view, "printed by the parent alone")
    display.after_fork_in_parent()
    assert display.thread is None

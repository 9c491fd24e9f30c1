"""Lines that are drawn again in place, and prints of others above them."""

from __future__ import annotations

import functools
import io
import logging
import os
import sys

import pytest

from penstock.watch.live import screen as screens
from penstock.watch.live.screen import Screen, without_screen
from tests.terminals import FakeTerminal


@pytest.fixture
def terminal(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("LINES", "24")
    monkeypatch.delenv("NO_COLOR", raising=False)
    return FakeTerminal()


def prints_there(test):
    """Let what a test prints go to its terminal; afterwards the standard streams must be those of before."""

    @functools.wraps(test)
    def with_streams(terminal, **given):
        before = sys.stdout, sys.stderr
        sys.stdout = sys.stderr = terminal
        try:
            test(terminal, **given)
            assert (sys.stdout, sys.stderr) == (terminal, terminal), "a screen has kept them"
        finally:
            sys.stdout, sys.stderr = before

    return with_streams


@prints_there
def test_lines_are_replaced_in_place_and_removed_at_the_end(terminal):
    screen = Screen(terminal)
    screen.draw(["first", "second", "third"])
    screen.draw(["1", "2"])
    assert terminal.lines == ["", "1", "2"]
    screen.close()
    assert terminal.lines == []
    assert (terminal.row, terminal.column) == (0, 0)


@prints_there
def test_prints_come_above_the_lines_in_whole(terminal):
    screen = Screen(terminal)
    for number in range(50):  # more than the terminal has rows
        screen.draw([f"view {number}", "x" * 70])
        print(f"loss {number}")
        print("one\ntwo\n", end="", file=sys.stderr)
    screen.close()
    assert terminal.lines == [line for number in range(50) for line in (f"loss {number}", "one", "two")]


@prints_there
def test_logs_of_handlers_made_before_come_above_the_lines_too(terminal):
    logger, handler = logging.getLogger("tests.screen"), logging.StreamHandler(sys.stderr)
    logger.addHandler(handler)
    logging.getLogger("tests").addHandler(logging.lastResort)
    logger.propagate = False
    try:
        screen = Screen(terminal)
        screen.draw(["first", "x" * 70])
        logger.warning("one\ntwo\nthree")
        screen.draw(["first", "y" * 70])
        logger.warning("four")
        screen.close()
        assert handler.stream is terminal
    finally:
        logger.removeHandler(handler)
        logging.getLogger("tests").removeHandler(logging.lastResort)
    assert terminal.lines == ["one", "two", "three", "four"]


@prints_there
def test_an_unfinished_line_of_another_is_kept(terminal):
    screen = Screen(terminal)
    screen.draw(["view"])
    print("step 1 ", end="")
    screen.draw(["view 2"])
    print("done")
    screen.draw(["view 3"])
    assert terminal.lines == ["step 1 done", "", "view 3"]
    print("step 2", end="")
    screen.say("summary")
    screen.close()
    assert terminal.lines == ["step 1 done", "step 2", "summary"]


@prints_there
def test_text_that_passes_the_screen_by_keeps_its_place(terminal):
    screen = Screen(terminal)
    screen.draw(["view"])
    terminal.write("from C\n")
    screen.draw(["view 2"])
    screen.close()
    assert terminal.lines == ["from C"]


@prints_there
def test_lines_come_back_at_once_after_a_print_unless_there_are_many(terminal, monkeypatch):
    now = 100.0
    monkeypatch.setattr(screens, "monotonic", lambda: now)
    screen = Screen(terminal)
    screen.draw(["view"])
    print("soon")
    assert terminal.lines == ["soon"]
    now += 1
    print("later")
    assert terminal.lines == ["soon", "later", "", "view"]
    screen.close()


@prints_there
def test_the_same_lines_are_not_written_again(terminal):
    screen = Screen(terminal)
    screen.draw(["view"])
    before = terminal.raw
    screen.draw(["view"])
    assert terminal.raw == before
    screen.close()


@prints_there
def test_lines_leave_some_rows_to_others(terminal):
    screen = Screen(terminal)
    screen.draw([str(number) for number in range(100)])
    assert len(terminal.lines) == 23
    assert terminal.gone == []
    screen.close()


@prints_there
def test_standard_streams_keep_their_abilities(terminal):
    screen = Screen(terminal)
    screen.draw(["view"])
    assert sys.stdout is not terminal
    assert without_screen(sys.stdout) is terminal
    assert sys.stdout.isatty()
    sys.stdout.writelines(["a\n", "b\n"])
    sys.stdout.flush()
    screen.close()
    assert terminal.lines == ["a", "b"]


@prints_there
def test_a_stream_that_others_replaced_meanwhile_is_left_alone(terminal, monkeypatch):
    screen = Screen(terminal)
    screen.draw(["view"])
    theirs = io.StringIO()
    with monkeypatch.context() as patched:
        patched.setattr(sys, "stdout", theirs)
        screen.close()
        assert sys.stdout is theirs
    ours = sys.stdout  # their owner has put ours back
    print("still printed", file=ours)
    assert terminal.lines == ["still printed"]
    sys.stdout = terminal


@prints_there
def test_another_process_prints_past_the_screen(terminal, monkeypatch):
    screen = Screen(terminal)
    screen.draw(["view"])
    with monkeypatch.context() as patched:
        patched.setattr(os, "getpid", lambda: -1)
        print("child")
    assert terminal.lines[0] == "child"
    screen.close()


@pytest.mark.parametrize(
    ("variables", "moving", "color"),
    [({}, True, True), ({"NO_COLOR": "1"}, True, False), ({"TERM": "dumb"}, False, False)],
)
def test_abilities_of_a_terminal(terminal, monkeypatch, variables, moving, color):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    screen = Screen(terminal)
    assert (screen.moving, screen.style.color) == (moving, color)


def test_files_and_closed_streams_are_no_terminals():
    closed = FakeTerminal()
    closed.close()
    file = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    assert [Screen(io.StringIO()).moving, Screen(file).moving] == [False, False]
    assert not Screen(file).style.blocks
    assert not screens.is_moving(None)

from __future__ import annotations

import io

import pytest

from penstock.cli import terminal as terminals
from penstock.cli.terminal import Terminal


class Screen(io.StringIO):
    def isatty(self):
        return True


def test_a_paragraph_is_wrapped_and_indented():
    stream = io.StringIO()
    Terminal(stream).say("word " * 60, indent=3)
    lines = stream.getvalue().splitlines()
    assert len(lines) > 2
    assert all(line.startswith("   word") and len(line) <= terminals.WIDEST for line in lines)


def test_a_table_has_its_numbers_to_the_right():
    stream = io.StringIO()
    Terminal(stream).table([["name", "n"], ["a", "1,000"], ["long name", "7"]], indent=0)
    assert stream.getvalue() == "name           n\na          1,000\nlong name      7\n"


def test_output_to_a_file_has_no_moving_line_bar_or_escape_codes():
    stream = io.StringIO()
    terminal = Terminal(stream)
    with terminal.live() as replace:
        replace("12 %")
    with terminal.progress("working", 10) as update:
        update(5, "")
    assert stream.getvalue() == ""
    terminal.heading("Title")
    assert stream.getvalue() == "\nTitle\n"


def test_a_live_line_is_replaced_and_cleared_at_the_end():
    screen = Screen()
    with Terminal(screen).live() as replace:
        replace("first")
        replace("x" * 1000)
    *_, before, last = screen.getvalue().split("\r\x1b[2K")
    assert last == ""
    assert len(before) < 1000, "cut to the width of the terminal, or it could not be overwritten"


@pytest.mark.parametrize("rich", [True, False])
def test_a_screen_gets_a_bar_with_rich_and_without(rich, monkeypatch):
    if not rich:
        monkeypatch.setattr(terminals, "_rich", lambda: None)
    screen = Screen()
    with Terminal(screen).progress("working", 10) as update:
        update(5, "half")
    assert "working" in screen.getvalue()
    assert "5/10" in screen.getvalue()
    assert "half" in screen.getvalue()


@pytest.mark.parametrize(
    ("encoding", "wanted"), [("ascii", b"12 ?s ? gr??er\n"), ("utf-8", "12 µs → größer\n".encode())]
)
def test_what_the_encoding_lacks_is_a_question_mark(encoding, wanted):
    written = io.BytesIO()
    stream = io.TextIOWrapper(written, encoding=encoding, newline="")
    Terminal(stream).show("12 µs → größer", 0)
    assert written.getvalue() == wanted

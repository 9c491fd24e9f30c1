"""Progress as a line and as calls."""

from __future__ import annotations

import io

from penstock.dataset.describing import progress
from penstock.dataset.describing.progress import Pacer, ProgressLine, progress_of


class Screen(io.StringIO):
    def isatty(self):
        return True


def test_a_line_says_how_much_is_done_and_is_removed():
    screen = Screen()
    line = ProgressLine(screen, "describe")
    line(250, 1000)
    line(0, None)
    pacer = Pacer(line, 1000)
    pacer.close()
    shown = screen.getvalue()
    assert "describe: 250 of 1,000 (25 %)" in shown
    assert " s left" in shown
    assert shown.endswith("\r\x1b[2K")


def test_a_function_is_called_now_and_then_and_at_the_end():
    calls = []
    pacer = Pacer(lambda done, total: calls.append((done, total)), None)
    pacer.note(1, 0.0)
    pacer.note(2, float("inf"))
    pacer.finish(3)
    pacer.close()
    assert calls == [(2, None), (3, None)]
    silent = Pacer(None, 3)
    silent.note(1, float("inf"))
    silent.finish(3)
    silent.close()


def test_by_default_only_a_terminal_gets_a_line(monkeypatch):
    monkeypatch.setattr(progress.sys, "stderr", io.StringIO())
    assert progress_of(None, "x") is None
    assert isinstance(progress_of(True, "x"), ProgressLine)
    monkeypatch.setattr(progress.sys, "stderr", Screen())
    assert isinstance(progress_of(None, "x"), ProgressLine)
    assert progress_of(False, "x") is None
    assert progress_of(print, "x") is print
    monkeypatch.setattr(progress.sys, "stderr", None)
    assert progress_of(None, "x") is progress_of(True, "x") is None

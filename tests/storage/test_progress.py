"""The progress line."""

from __future__ import annotations

import io
import threading

import pytest

from penstock.storage import progress as room
from penstock.storage.progress import Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def clock(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(room.time, "monotonic", lambda: now[0])
    return now


def test_progress_is_shown_on_a_terminal_after_a_second(clock):
    stream = Terminal()
    with Progress("indexing 3 files", 4_000_000_000, stream) as progress:
        clock[0] = 0.9
        progress.advance(1_000_000_000)
        assert not stream.getvalue()
        clock[0] = 2.0
        progress.advance(1_000_000_000)
        assert stream.getvalue() == "\rindexing 3 files:  50% of 4.0 GB, 2 s to go"
        clock[0] = 2.05
        progress.advance(1)
        assert stream.getvalue().count("\r") == 1
    assert stream.getvalue().endswith("\r" + " " * 43 + "\r")


@pytest.mark.parametrize("stream", [io.StringIO(), None])
def test_progress_is_not_shown_elsewhere(clock, capsys, stream):
    with Progress("x", 10, stream) as progress:
        clock[0] = 9.0
        progress.advance(10)
    assert capsys.readouterr().err == ""
    assert stream is None or not stream.getvalue()


def test_progress_over_zero_bytes_works(clock):
    stream = Terminal()
    with Progress("x", 0, stream) as progress:
        clock[0] = 5.0
        progress.advance(0)
        progress.advance(7)
    assert "0%" in stream.getvalue()


def test_any_thread_may_advance():
    progress = Progress("x", 4000, Terminal())
    threads = [threading.Thread(target=lambda: [progress.advance(1) for _ in range(1000)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert progress._done == 4000

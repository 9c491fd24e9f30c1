"""Values collected for as long as somebody waits."""

from __future__ import annotations

import contextvars
import threading

import pytest

from penstock.watch.page.patience import Collector

WHERE = contextvars.ContextVar("WHERE", default="nowhere")


def test_all_values_are_collected_in_a_thread_with_the_same_context():
    def values():
        yield threading.current_thread() is threading.main_thread()
        yield WHERE.get()

    token = WHERE.set("here")
    collector = Collector(values())
    assert collector.wait(30)
    WHERE.reset(token)
    assert (collector.values, collector.error, collector.is_busy) == ([False, "here"], None, False)


def test_what_came_before_an_error_is_kept():
    def values():
        yield 1
        raise ValueError("x")

    collector = Collector(values())
    assert collector.wait(30)
    assert collector.values == [1]
    assert str(collector.error) == "x"


def test_nobody_waits_longer_and_the_values_are_closed_then():
    let_go, closed = threading.Event(), threading.Event()

    def values():
        try:
            let_go.wait()
            yield 1
            yield 2
        finally:
            closed.set()

    collector = Collector(values())
    assert not collector.wait(0.05)
    assert collector.is_busy
    let_go.set()
    assert closed.wait(30)
    collector._thread.join(30)
    assert collector.values == [1]
    assert not collector.is_busy


def test_an_interrupt_of_the_wait_ends_the_thread(monkeypatch):
    def interrupted(self, timeout=None):
        raise KeyboardInterrupt

    def values():
        number = 0
        while True:
            yield number
            number += 1

    collector = Collector(values())
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "join", interrupted)
        with pytest.raises(KeyboardInterrupt):
            collector.wait(30)
    collector._thread.join(30)
    assert not collector.is_busy

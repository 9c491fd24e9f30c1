from __future__ import annotations

import gc
import multiprocessing
import signal
import threading
import weakref

import pytest

from penstock.engine.workers.handed_in import departures
from penstock.engine.workers.handed_in.departures import Departures


class Sent:
    def __init__(self, processes):
        self.processes = processes


@pytest.fixture
def waiting():
    """A process that waits until somebody ends it."""
    process = multiprocessing.get_context("spawn").Process(target=signal.pause)
    process.start()
    yield process
    process.kill()
    process.join()


def test_what_was_sent_is_held_until_its_workers_are_gone(waiting):
    left, gone, processes = Departures(), threading.Event(), {waiting.pid: waiting}
    first, second = Sent(processes), Sent(processes)
    held = [weakref.ref(first), weakref.ref(second)]
    left.hold(first, gone.set)
    left.hold(second, gone.set)
    del first, second
    gc.collect()
    assert left.under_way
    assert all(each() is not None for each in held)
    waiting.terminate()
    assert gone.wait(20)
    assert not left.under_way
    gc.collect()
    assert not any(each() for each in held)


def test_workers_that_stay_are_killed(waiting, monkeypatch):
    monkeypatch.setattr(departures, "TIME_TO_LEAVE", 0.01)
    left, gone = Departures(), threading.Event()
    left.hold(Sent({waiting.pid: waiting}), gone.set)
    assert gone.wait(20)
    waiting.join()
    assert waiting.exitcode == -signal.SIGKILL


def test_nothing_is_held_for_workers_that_have_ended(waiting):
    waiting.kill()
    waiting.join()
    left = Departures()
    left.hold(Sent({waiting.pid: waiting}), None)
    left.hold(Sent({}), None)
    assert not left.under_way

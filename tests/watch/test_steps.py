"""The consumer's side of a run."""

from __future__ import annotations

import threading

import pytest

from penstock.watch import steps
from penstock.watch.steps import EARLY, MEASURED, StepClock


class FakeSession:
    mode = "inline"
    waits_for_processes = False


class FakeRun:
    ended = None

    def __init__(self):
        self.session = FakeSession()


@pytest.fixture
def cpu(monkeypatch):
    """The CPU times of the thread and the process, in ns."""
    times = {"thread": 0, "process": 0, "read": 0}

    def thread_time_ns():
        times["read"] += 1
        return times["thread"]

    monkeypatch.setattr(steps, "thread_time_ns", thread_time_ns)
    monkeypatch.setattr(steps, "process_time_ns", lambda: times["process"])
    return times


def request(clock, asked, now, run):
    """Let the clock note what the consumer tells it of a request."""
    if clock.measures:
        clock.asked(asked)
    clock.left -= 1
    if clock.left <= 0 or run.ended is not None:
        clock.handed_out(asked, now, run)


def test_the_cpu_time_of_steps_is_that_of_those_measured(cpu):
    clock, run = StepClock(), FakeRun()
    for number in range(10):
        clock.asked(100 * number + 10)  # each step takes 90 ns, and each wait 10
        cpu["process"] += 70
        clock.handed_out(100 * number + 10, 100 * number + 20, run)
        cpu["thread"] += 45
    clock.asked(1010)
    assert clock.times().step_share == 0.5
    assert clock.times().cpu == 700


def test_after_the_first_steps_few_are_measured(cpu):
    clock, run = StepClock(), FakeRun()
    for number in range(EARLY + 10 * MEASURED):
        request(clock, number, number, run)
    assert cpu["read"] == 2 * (EARLY + 10) - 1


def test_a_step_of_another_thread_is_not_measured(cpu):
    clock, run = StepClock(), FakeRun()
    clock.asked(0)
    clock.handed_out(0, 10, run)
    cpu["thread"] += 5
    thread = threading.Thread(target=clock.asked, args=(30,))
    thread.start()
    thread.join()
    assert clock.times().step_share == 0


def test_waits_in_which_workers_start_are_the_start_of_the_run(cpu):
    clock, run = StepClock(), FakeRun()
    for run.session.mode in ("inline", "inline", "2 threads", "2 threads"):
        request(clock, 0, 10, run)
    assert clock.times().warm_up == 20
    for run.session.waits_for_processes in (True, *[True] * EARLY, False):
        request(clock, 0, 100, run)
    assert clock.times().warm_up == 20 + 100 * (EARLY + 1)


def test_nothing_counts_after_the_end(cpu):
    clock, run = StepClock(), FakeRun()
    assert clock.times() == (0, 0, 0.0)
    clock.asked(0)
    clock.handed_out(0, 10, run)
    run.ended, cpu["process"] = "exhausted", 30
    clock.asked(20)
    clock.handed_out(20, 30, run)
    cpu["process"] = 90
    assert clock.times() == (10, 30, 0.0)

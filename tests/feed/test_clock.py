"""How long a device waits, from events in its work."""

from __future__ import annotations

import re

import pytest

from penstock.core.verdicts import Verdict
from penstock.feed.clock import ArrivalClock, DeviceTimes, EventClock


class At:
    def __init__(self, ms, *, past=True):
        self.ms, self.past = ms, past

    def query(self):
        return self.past

    def synchronize(self):
        self.past = True

    def elapsed_time(self, later):
        return later.ms - self.ms


def clock_of(waits, moves=()):
    """The clock of waits from one ms to another."""
    points = [point for wait in waits for point in wait]
    clock = EventClock("cuda:0", lambda: points.pop(0))
    for _ in waits:
        clock.asked()
        clock.handed_out(None)
    for began, ended, nbytes in moves:
        clock.moved(began, ended, nbytes)
    return clock


def test_waits_count_from_the_second_batch_on():
    clock = clock_of(
        [(At(0), At(500)), (At(600), At(610)), (At(700), At(700))], [(At(0), At(50), 10**9), (At(60), At(110), 10**9)]
    )
    times = clock.times()
    assert (times.steps, times.seconds, times.waited) == (2, pytest.approx(0.2), pytest.approx(0.01))
    assert (times.moving, times.nbytes) == (pytest.approx(0.1), 2 * 10**9)
    assert times.wait_share == pytest.approx(0.05)


def test_events_that_are_not_past_are_read_later():
    late = At(900, past=False)
    clock = clock_of([(At(0), At(100)), (At(200), At(250)), (At(300), late)], [(At(0), late, 5)])
    assert (clock.times().steps, clock.times().moving) == (1, 0)
    late.past = True
    assert (clock.times().steps, clock.times().nbytes) == (2, 5)
    assert clock.times().waited == pytest.approx(0.65)


def test_events_do_not_pile_up():
    points = iter(range(10**6))
    clock = EventClock("cuda:0", lambda: At(next(points)))
    for _ in range(100):
        clock.asked()
        clock.handed_out(None)
        clock.moved(At(0), At(1), 1)
    assert len(clock._waits) + len(clock._moves) < 5


def test_transfers_are_noted_with_their_time_on_the_device(monkeypatch):
    monkeypatch.setattr("penstock.feed.clock.perf_counter_ns", lambda: 5_000_000)  # at 100 ms of the device
    points, noted = iter((At(100), At(101), At(120), At(121))), []
    clock = EventClock("cuda:0", points.__next__)
    clock.note = lambda *transfer: noted.append(transfer)
    for began in (98, 110):
        clock.asked()
        clock.handed_out(None)
        clock.moved(At(began), At(began + 1.5), 7)
    clock.times()
    assert noted == [("to cuda:0", 3_000_000, 1_500_000, 7), ("to cuda:0", 15_000_000, 1_500_000, 7)]


def test_another_pass_begins_anew():
    clock = clock_of([(At(0), At(1)), (At(2), At(3))])
    clock.begin()
    assert clock.times() == DeviceTimes("cuda:0")


@pytest.mark.parametrize(
    ("waited", "moving", "input_waited", "kind", "says"),
    [
        (
            0.01,
            0.9,
            0.5,
            "step",
            "Step-bound: cuda:0 waited 1.0 % of the time for its batches. It took 10 steps/s; transfers",
        ),
        (0.5, 0.1, 0.4, "storage", "Input-bound: cuda:0 waited 50 % of the time for its batches. The decoder."),
        (
            0.5,
            0.8,
            0.1,
            "transfer",
            "Transfer-bound: cuda:0 waited 50 % of .* 80 % of the time, at 12.5 GB/s. Send fewer bytes",
        ),
    ],
)
def test_the_verdict_says_what_the_device_waits_for(waited, moving, input_waited, kind, says):
    times = DeviceTimes("cuda:0", steps=10, seconds=1.0, waited=waited, moving=moving, nbytes=10**10)
    found = times.verdict(input_waited, lambda: Verdict("The decoder.", "storage"))
    assert re.match(says, found)
    assert found.kind == kind


def test_a_few_steps_say_nothing():
    assert (
        DeviceTimes("cuda:0", 2, 0.5).verdict(0, lambda: Verdict(""))
        == "Too early to say: 2 steps in 0.50 s on cuda:0."
    )


class Array:
    def __init__(self, *, ready):
        self.ready = ready

    def is_ready(self):
        return self.ready

    def is_deleted(self):
        return False


@pytest.mark.parametrize(
    ("ready", "input_waited", "says"),
    [
        (True, 0.0, "Step-bound: the loop waited for the pipeline 0.0 % of the time; 0.0 % of the batches were still"),
        (False, 0.0, "Step-bound or transfer-bound: .* 100 % of the batches were still in transfer to gpu:0"),
        (False, 0.5, "The decoder."),
    ],
)
def test_without_events_arrivals_are_counted(monkeypatch, ready, input_waited, says):
    seconds = iter(range(100))
    monkeypatch.setattr("penstock.feed.clock.perf_counter", lambda: next(seconds) / 10)
    clock = ArrivalClock("gpu:0")
    assert clock.verdict(0, str).startswith("Too early to say: 0 steps")
    for _ in range(4):
        clock.asked()
        clock.handed_out({"x": Array(ready=ready), "s": "text"})
    assert re.match(says, clock.verdict(input_waited, lambda: Verdict("The decoder.", "storage")))

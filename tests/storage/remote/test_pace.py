"""The number of requests at once: with the rate, and half after a refusal."""

from __future__ import annotations

from penstock.storage.remote.pace import FIRST_LIMIT, LEAST_LIMIT, MOST_LIMIT, RequestPace


def test_refusals_halve_the_requests_at_once():
    pace = RequestPace()
    pace.refused()
    assert pace.limit == FIRST_LIMIT // 2
    pace.refused()  # those under way are refused together
    assert pace.limit == FIRST_LIMIT // 2
    pace._refused -= 5
    for _ in range(20):
        pace._refused -= 5
        pace.refused()
    assert pace.limit == LEAST_LIMIT


def test_the_requests_at_once_rise_with_the_rate(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr("penstock.storage.remote.pace.monotonic", lambda: clock[0])
    pace = RequestPace()
    for _ in range(100_000):  # a store whose rate is that of the requests at once
        clock[0] += 0.05 / pace.limit
        pace.done(1 << 16, 0.05, busy=True)
    assert pace.limit == MOST_LIMIT
    pace = RequestPace()
    for _ in range(3000):  # a line that is full at 24 requests
        clock[0] += 0.05 / min(pace.limit, 24)
        pace.done(1 << 16, 0.05, busy=True)
    assert 24 <= pace.limit < MOST_LIMIT
    pace = RequestPace()
    for _ in range(10_000):  # nothing waits: the rate says nothing
        clock[0] += 0.05 / pace.limit
        pace.done(1 << 16, 0.05, busy=False)
    assert pace.limit == FIRST_LIMIT

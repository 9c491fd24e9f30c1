"""The verdict, in every case it knows."""

from __future__ import annotations

import pytest

import penstock as ps
from penstock.watch.stats import OperationStats, Stats
from penstock.watch.verdict import verdict


def operation(name, wall):
    return OperationStats(name=name, calls=10, rows=1000, wall=wall, cpu=wall, wait=0.0, bytes=0)


def stats(**changed):
    """An input-bound run of two threads on two cores, unless changed."""
    counts = {
        "unit": "batch",
        "items": 100,
        "rows": 6400,
        "waited": 6.0,
        "stepped": 4.0,
        "work": 20.0,
        "blocked": 0.0,
        "starved": 0.0,
        "workers": 2,
        "cores": 2.0,
        "mode": "2 threads",
        "chosen": False,
        "ahead": 3,
        "live_bytes": 0,
        "peak_bytes": 0,
        "holds_gil": False,
        "decisions": (),
        "operations": (operation("read_files", 4.0), operation("map(decode)", 15.0), operation("batch(64)", 1.0)),
    }
    return Stats(**counts | changed)


def test_an_input_bound_run_names_who_waits_the_limit_and_its_ceiling():
    text = verdict(stats())
    assert text.startswith("Input-bound: the consumer waited 60 % of the time.")
    assert "The limit is map(decode), with 75 % of the work" in text
    assert "its ceiling is 133 rows/s (on 2 threads)" in text  # 2 workers x 1000 rows / 15 s


@pytest.mark.parametrize(
    ("mode", "where"),
    [
        ("isolated: inline", "(inline in a process of its own)"),
        ("isolated: 2 threads", "(on 2 threads in a process of its own)"),
    ],
)
def test_the_process_of_an_isolated_run_is_named(mode, where):
    assert where in verdict(stats(mode=mode))
    assert where in verdict(stats(mode=mode, waited=0.1, stepped=9.9))
    assert "as configured" in verdict(stats(mode="isolated: inline", workers=1, chosen=True))


@pytest.mark.parametrize(
    ("changed", "advice"),
    [
        ({}, "All 2 cores are busy"),
        ({"workers": 1, "mode": "1 thread"}, "Only 1 of 2 cores are requested: raise Options(workers=)"),
        ({"mode": "inline", "workers": 1}, "Batches this cheap stay inline; functions of whole columns"),
        (
            {"mode": "inline", "workers": 1, "chosen": True},
            "The run is inline, as configured: Options(executor='auto')",
        ),
        ({"blocked": 15.0}, "It mostly waits: more calls at a time hide that, with Options(workers=4)"),
        ({"starved": 10.0}, "Other processes used the cores for 50 % of the time"),
        ({"holds_gil": True}, "Its functions hold the GIL"),
        ({"holds_gil": True, "blocked": 15.0}, "Its functions hold the GIL"),
    ],
)
def test_the_verdict_advises_a_change(changed, advice):
    assert advice in verdict(stats(**changed))


def test_a_run_that_is_not_input_bound_shows_the_ceiling():
    text = verdict(stats(waited=0.2, stepped=9.8, work=2.0))
    assert text == (
        "Not input-bound: the consumer waited 2.0 % of the time. It took 10 batches/s; the pipeline could make "
        "100 batches/s (on 2 threads), then limited by map(decode)."
    )


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({"items": 0, "waited": 0.0, "stepped": 0.0}, "Too early to say: 0 batches in 0.00 s."),
        ({"items": 1, "waited": 0.01, "stepped": 0.02}, "Too early to say: 1 batch in 0.03 s."),
        ({"items": 5, "unit": "element", "operations": ()}, "Too early to say: 5 elements in 10.00 s."),
    ],
)
def test_too_few_items_give_no_verdict(changed, text):
    assert verdict(stats(**changed)) == text


def test_slow_runs_have_rates_with_digits():
    assert "It took 0.3 batches/s" in verdict(stats(items=3, waited=0.1, stepped=9.9))


def test_the_last_event_ends_with_the_innermost_line_of_its_stack():
    stack = "nothing moves; thread main is in:\n  File 'a.py', line 1, in f\n    g()\n  File 'b.py', line 2\n    read()"
    event = ps.RunEvent(0.0, "stuck", "map(f)", None, stack)
    assert verdict(stats(events=(event,))).endswith("The event of the run: nothing moves; thread main is in: read().")

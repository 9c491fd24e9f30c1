"""The change to make next, and what it is worth."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.watch.verdict import verdict
from tests.watch.measured import BATCH, operation, stats


@pytest.mark.parametrize(
    ("changed", "gain"),
    [
        # 100 batches in 10 s; the consumer alone could take 100 in 4 s, 2.5 times as many
        ({"holds_gil": True, "work": 20.0, "blocked": 10.0}, 2.0),  # 2 cores x 100 / 10 s = 20 a second
        ({"workers": 1, "mode": "1 thread", "work": 10.0}, 2.0),
        ({"workers": 1, "mode": "1 thread", "work": 10.0, "cores": 64.0}, 2.5),  # then the step is the limit
        ({"blocked": 19.0}, 2.0),
        ({"blocked": 12.0}, 2.0),
        ({"starved": 10.0}, 2.0),
        ({"starved": 4.0, "work": 8.0}, 2.0),  # of what it makes now, however idle the workers are
        ({}, 1 / (1 - 0.75 / 2)),  # with the limiting operation in half of its time
        ({"mode": "inline", "workers": 1, "work": 10.0}, 1.0),  # nobody knows
        ({"short": 40, "work": 8.0, "budget": 10**6}, 2.5),
        ({"work": 10.0, "blocked": 9.0}, 2.0),  # idle workers would not be more busy with more of them
        ({"work": 5.0, "blocked": 4.0, "uneven": 20.0}, 2.5),
        ({"waited": 0.2, "stepped": 9.8}, 1.0),
    ],
)
def test_the_gain_of_the_change_is_predicted(changed, gain):
    found = verdict(stats(**changed))
    assert found.gain == pytest.approx(gain)
    assert ("times as fast" in found) is (gain > 1)
    assert ("then your own step is the limit" in found) is (gain == 2.5)


@pytest.mark.parametrize(
    ("changed", "promised"),
    [
        ({}, "That should be about 1.6 times as fast."),  # arithmetic, if the operation takes half of its time
        ({"starved": 10.0}, "That should be up to 2.0 times as fast."),
        (
            {"blocked": 12.0},
            "Unless the calls wait for each other, as for a lock, that should be up to 2.0 times as fast.",
        ),
        ({"work": 10.0, "mode": "inline", "workers": 1, "chosen": True}, "up to 2.0 times as fast."),
        (
            {"holds_gil": True, "work": 10.0, "waited": 4.0, "stepped": 4.0},
            "up to 1.6 times as fast, once the processes have started.",
        ),
        ({"holds_gil": True, "work": 10.0, "waited": 9.0}, "up to 2.6 times as fast."),  # a run long enough for them
        # steps that compute share the cores with the workers: 100 batches need 10 + 4 s of both
        ({"work": 10.0, "mode": "inline", "workers": 1, "chosen": True, "step_cpu": 4.0}, "up to 1.43 times as fast."),
    ],
)
def test_a_promise_is_a_bound_where_more_workers_are_to_keep_it(changed, promised):
    assert promised in verdict(stats(**changed))


TURNS = "map(decode) is called by one thread at a time: writes `self.last`"
SLEEPS = {"work": 12.0, "blocked": 6.0, "cpu": 0.5, "alone": (TURNS,)}  # the other half of the time is waits for turns


@pytest.mark.parametrize(
    ("changed", "promised"),
    [
        (SLEEPS | {"asked": 2}, "That should be up to 2.0 times as fast."),
        (SLEEPS | {"asked": 2, "step_cpu": 0.1, "stepped": 8.0, "waited": 2.0}, "up to 1.25 times as fast; then your"),
        (SLEEPS | {"mode": "1 thread", "workers": 1}, ""),  # nobody knows how many threads the run will have then
        (
            {"work": 20.0, "cpu": 10.0, "alone": (TURNS,)},
            "Unless its functions hold the GIL, that should be up to 2.0 times as fast.",
        ),
    ],
)
def test_calls_without_turns_are_promised_what_the_workers_make(changed, promised):
    found = verdict(stats(**{"waited": 10.0, "stepped": 0.0} | changed))
    assert found.change.startswith(TURNS)
    assert ("times as fast" in found) is bool(promised)
    assert promised in found


@pytest.mark.parametrize("held", [{"holds_gil": True}, {"contention": 0.6, "cpu": 9.8, "blocked": 4.0}])
def test_no_turns_are_blamed_where_functions_hold_the_gil(held):
    assert "Its functions hold the GIL" in verdict(stats(alone=(TURNS,), **held))


def test_more_calls_that_the_run_has_tried_in_vain_are_not_advised():
    found = verdict(stats(blocked=19.0, more_failed=True))
    assert "more calls at a time made no more when the run tried them: look for something that they share" in found
    assert found.gain == 1.0


def test_nothing_is_promised_for_threads_that_do_not_pay():
    found = verdict(stats(mode="inline", workers=1, chosen=True, work=0.02, waited=0.06, stepped=0.0))
    assert found.gain == 1.0
    assert "Batches this cheap stay inline" in found


@pytest.mark.parametrize(
    ("budget", "words"),
    [(10**6, "raise Options(memory_budget=) to 6 MB, or"), (10**7, "raise Options(memory_budget=), or")],
)
def test_the_memory_that_keeps_the_workers_busy_is_told(budget, words):
    batches = replace(BATCH, bytes=10**8)  # each of 1 MB; 2 x 2 + 2 of them
    found = verdict(stats(short=40, work=8.0, budget=budget, operations=(operation("map(decode)", 7.0), batches)))
    assert words in found.change


SECONDS = st.floats(0.0, 60.0)
SHARES = st.floats(0.0, 1.0)


@st.composite
def measured(draw):
    """Counts of a run as any measurement may give them."""
    waited, stepped, work = draw(SECONDS), draw(SECONDS), draw(st.floats(0.001, 200.0))
    workers = draw(st.sampled_from([1, 2, 4, 64]))
    walls = draw(st.lists(st.floats(0.001, 100.0), min_size=1, max_size=3))
    modes = ["inline", "isolated: inline", "2 processes", f"{workers} threads"]
    return stats(
        items=draw(st.integers(1, 10**6)),
        waited=waited,
        stepped=stepped,
        warm_up=waited * draw(SHARES),
        work=work,
        blocked=work * draw(SHARES),
        starved=work * draw(SHARES),
        workers=workers,
        cores=draw(st.sampled_from([1.0, 2.0, 16.0])),
        mode=draw(st.sampled_from(modes)),
        chosen=draw(st.booleans()),
        holds_gil=draw(st.booleans()),
        cpu=draw(SECONDS),
        step_cpu=stepped * draw(SHARES),
        contention=draw(SHARES),
        short=draw(st.integers(0, 1000)),
        budget=10**6,
        uneven=draw(st.floats(1.0, 50.0)),
        asked=draw(st.sampled_from([0, 1, 4])),
        more_failed=draw(st.booleans()),
        alone=draw(st.sampled_from([(), ("map(0) is called by one thread at a time",)])),
        operations=tuple(
            operation(f"map({at})", wall, sequential=draw(st.booleans()), reads=draw(st.booleans()))
            for at, wall in enumerate(walls)
        ),
    )


@given(measured())
def test_no_promise_exceeds_what_the_waits_that_are_stated_can_bring(counts):
    found = verdict(counts)
    if found.gain == 1:
        return
    stated = re.search(r"waited ([\d.]+) %.*?(?:for the GIL, up to ([\d.]+) %)?\. The limit", found)
    waits = sum(float(share) + (0.05 if float(share) < 10 else 0.5) for share in stated.groups() if share) / 100
    promised = re.search(r"(?:up to|about) ([\d,.]+) times as fast", found)
    gains = [found.gain] if promised is None else [found.gain, float(promised[1].replace(",", "")) - 0.05]
    if waits < 1:
        assert max(gains) <= 1 / (1 - waits) + 1e-9

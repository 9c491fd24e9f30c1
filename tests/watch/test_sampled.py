from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from penstock import Dataset, Options, on_error
from penstock.engine.tasks.compile import compiled
from penstock.watch import counters as counting
from penstock.watch.counters import Counters
from penstock.watch.counts import CALLS, FIRST_CALLS, QUICK, ROWS, WALL
from penstock.watch.sampled import QUICK_SAMPLE, SampledChain, Tally, operation_in

STEPS = Dataset.range(10_000).map(lambda x: x + 1, vectorized=True).shuffle(seed=0).batch(4)


@pytest.fixture
def clock(monkeypatch):
    """A clock that advances by a µs at each look."""
    looks = [0]

    def look():
        looks[0] += 1
        return 1000 * looks[0]

    monkeypatch.setattr(counting, "perf_counter_ns", look)
    return looks


def program_and(counters, plan=STEPS._plan):
    return compiled(plan, np.empty, counters)


def test_quick_steps_are_measured_in_one_call_of_some_and_counted_in_all(clock):
    counters = Counters()
    program = program_and(counters)
    for call in range(10 * QUICK_SAMPLE):
        assert len(program(np.arange(call, call + 2))) == 2
        totals = [each.total() for each in counters.operations]
        assert [total[CALLS] for total in totals] == [call + 1] * 4
        assert [total[ROWS] // (call + 1) for total in totals] == [8, 8, 8, 2]
    assert clock[0] <= 10 * (FIRST_CALLS + 1 + 6 + 10)  # looks, in the first calls and in one of ever more later ones
    assert counters.operations[-1].total()[WALL] == pytest.approx(10 * QUICK_SAMPLE * 2000, rel=0.3)


def test_a_call_that_is_measured_stands_for_the_rows_of_those_that_were_not(clock):
    counters = Counters()
    program = program_and(counters)
    for _ in range(FIRST_CALLS + 1):
        program(np.arange(1))
    before = counters.operations[-1].total()[WALL]
    program(np.arange(3))
    assert counters.operations[-1].total()[WALL] == pytest.approx(before * 8 / 5)  # as much a row as the last
    program(np.arange(1))
    took = before / (FIRST_CALLS + 1)
    assert counters.operations[-1].total()[WALL] == pytest.approx(before + 4 * took)


def test_a_step_that_becomes_expensive_is_measured_in_each_call(clock, monkeypatch):
    counters = Counters()
    program = program_and(counters)
    for call in range(3 * QUICK_SAMPLE):
        program(np.array([call]))
    monkeypatch.setattr(counting, "perf_counter_ns", iter(range(0, 10**12, QUICK)).__next__)
    for call in range(QUICK_SAMPLE):  # the last of these at most is measured
        program(np.array([call]))
    before = counters.operations[-1].total()[WALL]
    program(np.array([0]))
    program(np.array([1]))
    assert counters.operations[-1].total()[WALL] - before >= 2 * QUICK


def test_failures_are_counted_for_the_operation_that_failed():
    def odd(x):
        if x % 2 == 0:
            raise ValueError(x)
        return x

    ds = Dataset.range(200).map(odd, on_error=on_error.replace(-1)).map(abs).with_options(Options(executor="inline"))
    with ds.iterator() as it:
        assert len(list(it)) == 200
        assert [each.failed for each in it.stats().operations] == [0, 100, 0]


def test_a_tally_gives_the_time_to_the_operation_that_reads():
    tally = Tally()
    tally.add(2, 20, 80, 1000, 900)
    tally.add(1, 10, 40, 500, 400)
    assert tally.of(of_batches=False, has_time=True) == (2, 30, 1500, 1300, 120)
    assert tally.of(of_batches=True, has_time=False) == (2, 3, 0, 0, 120)


class Locals(dict):
    """The variables of a frame as Python 3.13 gives them: their names are a list."""

    def keys(self):
        return list(super().keys())


def test_the_operation_of_a_chain_is_found_among_the_variables_of_its_frame():
    chain = object.__new__(SampledChain)
    chain.operations = ["range", "map", "batch"]
    steps = [SimpleNamespace(change=change) for change in (len, None, len, len)]
    frame = SimpleNamespace(f_locals=Locals(self=chain, chunk=None, down=steps[:3], waiting=[1]))
    assert operation_in(frame) == "batch"
    assert operation_in(SimpleNamespace(f_locals=Locals(self=chain))) is None

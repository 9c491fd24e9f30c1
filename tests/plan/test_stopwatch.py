"""Times of single elements."""

from __future__ import annotations

import pytest

from penstock.plan.stopwatch import each_timed, stopwatch_here


def test_without_a_stopwatch_the_elements_are_passed_on_as_they_are():
    made = iter("ab")
    assert each_timed(made) is made


def test_each_element_has_a_time_and_inner_operations_none():
    stopwatch_here.times = times = []

    def elements():
        yield from each_timed(iter(range(5)))  # of a pipeline within the function
        yield from "ab"

    assert list(each_timed(elements())) == [0, 1, 2, 3, 4, "a", "b"]
    assert len(times) == 7
    assert min(times) >= 0


def test_an_error_passes_through():
    stopwatch_here.times = times = []
    timed = each_timed(6 // x for x in (1, 0))
    assert next(timed) == 6
    with pytest.raises(ZeroDivisionError):
        next(timed)
    assert len(times) == 1

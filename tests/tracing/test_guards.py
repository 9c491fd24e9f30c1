"""Bounds on the results of integer operations."""

from __future__ import annotations

import operator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.tracing.guards import BOUNDS, bounds_of
from penstock.tracing.program import Frame

OPERATIONS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv}
NUMBERS = st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 3), min_size=1, max_size=4)


@pytest.mark.parametrize("symbol", sorted(OPERATIONS))
@given(NUMBERS, NUMBERS)
def test_no_result_lies_outside(symbol, first, second):
    second = [number or 1 for number in second] if symbol == "//" else second
    low, high = BOUNDS[symbol](min(first), max(first), min(second), max(second))
    results = [OPERATIONS[symbol](a, b) for a in first for b in second]
    assert low <= min(results)
    assert max(results) <= high


def test_the_bounds_of_a_constant_are_the_constant():
    frame = Frame([np.array([3, -1])])
    assert bounds_of(7, frame) == (7, 7)
    assert frame.bounds(0) == (-1, 3)

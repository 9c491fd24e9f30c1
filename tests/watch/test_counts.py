from __future__ import annotations

import pytest

from penstock import Dataset
from penstock.watch.counts import ALIKE, CALLS, QUICK, ROWS, UNKNOWN_COST, OperationCounters, calls_for
from penstock.watch.sampled import SAMPLE, Unmeasured

PLAN = Dataset.range(3)._plan


def test_one_later_call_in_some_stands_for_them():
    assert [calls_for(call) for call in (0, SAMPLE - 1, SAMPLE, SAMPLE + 1, 2 * SAMPLE)] == [1, 1, SAMPLE, 0, SAMPLE]


@pytest.mark.parametrize(
    ("took", "below", "is_sampled", "is_quick"),
    [
        (QUICK - 1, ALIKE - 1, True, True),
        (QUICK - 1, ALIKE, True, False),
        (0, 0, False, False),
        (UNKNOWN_COST, 0, True, False),
    ],
)
def test_an_operation_is_quick_if_its_last_call_was(took, below, is_sampled, is_quick):
    operation = OperationCounters(PLAN, [], contains_inputs=False, took=took, took_below=below, is_sampled=is_sampled)
    assert operation.is_quick is is_quick


def no_program(rows, out=None, counts=None):
    raise AssertionError


def test_calls_that_were_not_measured_are_in_the_total():
    below, since = OperationCounters(PLAN, [], contains_inputs=False), Unmeasured([False, True, False], no_program)
    tops = [OperationCounters(PLAN, [], contains_inputs=False) for _ in range(2)]
    for place, operation in enumerate([*tops, below]):
        operation.unmeasured.append((since, place))
    since.counts += [2, 8, 1, 4, 7]  # two calls, and the beginning of the third
    assert below.total()[ROWS] == 0  # it measures itself
    since.quick = frozenset(range(3))
    below.skip(3, 30)
    assert (below.total()[CALLS], below.total()[ROWS]) == (5, 42)
    assert [operation.total()[ROWS] for operation in tops] == [3, 3]

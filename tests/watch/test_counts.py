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


def test_calls_that_were_not_measured_are_in_the_total():
    operation, since = OperationCounters(PLAN, [], contains_inputs=False), Unmeasured(2)
    operation.unmeasured.append((since, 1))
    since.counts += [2, 8, 1, 4, 7]  # two calls, and a step of the third
    assert operation.total()[ROWS] == 0  # the step measures itself
    since.quick = frozenset([1])
    operation.skip(3, 30)
    assert (operation.total()[CALLS], operation.total()[ROWS]) == (5, 42)

from __future__ import annotations

import pytest

from penstock import Dataset
from penstock.watch.counts import ALIKE, BYTES, CALLS, QUICK, ROWS, UNKNOWN_COST, OperationCounters, calls_for
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
    operations = [OperationCounters(PLAN, [], contains_inputs=False) for _ in range(3)]
    since = Unmeasured(frozenset(range(3)), [0, 0, 1])  # the last one is below a step that regroups
    for place, operation in enumerate(operations):
        operation.unmeasured.append((since, place))
    since.noted += [(2, 8), (1, 4)]
    assert [(operation.total()[CALLS], operation.total()[ROWS]) for operation in operations] == [
        (2, 3),
        (2, 3),
        (2, 12),
    ]
    assert sorted(since.take()) == [(0, 2, 3), (1, 2, 3), (2, 2, 12)]
    operations[2].skip(2, 12)
    assert [operation.total()[ROWS] for operation in operations] == [0, 0, 12]
    assert since.take() == []


def test_a_short_last_batch_does_not_tell_the_size_of_batches_that_were_not_measured():
    operation = OperationCounters(PLAN, [], contains_inputs=False)
    cell = operation.cell()
    cell[ROWS], cell[BYTES] = 10, 9 * 64 + 8
    operation.each = 8  # as another thread saw in the last batch
    operation.skip(1, 10)
    assert operation.total()[ROWS] == 20
    assert operation.total()[BYTES] == pytest.approx(20 * 64, rel=0.1)

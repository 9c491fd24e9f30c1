"""A source as a node: every epoch the same, into the memory given."""

from __future__ import annotations

import numpy as np
import pytest

from penstock import Dataset


def test_every_epoch_is_the_same():
    ds = Dataset.from_source(["a", "b"])
    assert [list(ds.iterator(epoch=epoch)) for epoch in range(3)] == [["a", "b"]] * 3


def test_length_spec_and_name_are_the_source_s():
    plan = Dataset.range(2, 8, 3)._plan
    assert (plan.length, plan.spec(), plan.label()) == (2, plan.source.spec(), "range(2, 8, 3)")


def test_results_are_written_into_given_memory():
    program = Dataset.range(5)._plan.program((), np.empty)
    memory = [np.empty(3, np.int64)]
    chunk = program(np.array([4, 5, 11]), memory)
    assert chunk.columns[0] is memory[0]
    assert memory[0].tolist() == [4, 0, 1]


@pytest.mark.parametrize("rows", [[], [0, 4], [7, 5], [4, 5], [13, 2, 9], [5 * 10**12 + 3]])
def test_rows_of_any_epochs_are_positions_in_them(rows):
    program = Dataset.range(5)._plan.program((), np.empty)
    assert program(np.array(rows, np.int64)).elements() == [row % 5 for row in rows]

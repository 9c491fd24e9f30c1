"""Common behavior of all batches: lengths, rows, one group at a time, and the elements that an error names."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from penstock import INFINITE, Dataset
from penstock.ops.group.grouping import Grouping, spans


@dataclass(frozen=True)
class Largest(Grouping):
    """The largest of each group of numbers, if it is less than 8."""

    def spec(self):
        return self.input.spec()

    def collect(self, chunk, rows, allocate):
        assert chunk.elements() == rows.tolist()  # a range: each element is its row
        largest = max(chunk.elements())
        if largest >= 8:
            raise ValueError("too large")
        return largest


def largest(dataset, size, drop_remainder=False):
    return Dataset(Largest(dataset._plan, size, drop_remainder=drop_remainder))


def test_each_group_is_made_from_its_own_elements():
    assert list(largest(Dataset.range(8), 3)) == [2, 5, 7]
    assert list(largest(Dataset.range(8), 3, True)) == [2, 5]
    assert largest(Dataset.range(8), 3)[2] == 7
    assert list(largest(Dataset.range(0), 3)) == []


@pytest.mark.parametrize(("size", "drop", "full"), [(4, False, True), (3, False, False), (3, True, True)])
def test_groups_know_whether_all_are_full(size, drop, full):
    node = largest(Dataset.range(8), size, drop)._plan
    assert node.all_full is full
    assert largest(Dataset.counter(), 3)._plan.all_full
    assert largest(Dataset.counter(), 3).cardinality() == INFINITE


def test_an_error_names_the_group_and_the_records_it_is_made_from():
    with pytest.raises(ValueError, match="too large") as caught:
        list(largest(Dataset.range(12), 3))
    notes = "\n".join(caught.value.__notes__)
    assert "in largest(3), at row 2" in notes
    assert "8" in notes.partition("made from")[2]


def test_spans_are_the_ranges_of_consecutive_groups():
    assert list(spans(np.array([2, 3]))) == [(0, 2), (2, 5)]
    assert list(spans(np.array([], np.int64))) == []

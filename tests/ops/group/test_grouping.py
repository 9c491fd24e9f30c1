"""Common behavior of all batches: lengths, rows, one group at a time, and the elements that an error names."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import INFINITE, Dataset
from penstock.core.frozen import frozen
from penstock.elements.chunks.chunk import Columns
from penstock.elements.nested.structure import LEAF
from penstock.ops.group.grouping import Collecting, Grouping, spans
from penstock.plan.flow import Piece


@frozen()
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


@given(st.integers(1, 7), st.integers(0, 9), st.integers(0, 40), st.integers(1, 5))
def test_the_groups_that_are_ready_are_those_that_counting_one_by_one_finds(size, made, at_hand, most):
    node = Dataset.range(8).batch(size)._plan
    assert node._ready(made, at_hand, most) == Collecting._ready(node, made, at_hand, most)


def test_batches_of_a_stream_whose_elements_are_ready_are_made_in_one_go(monkeypatch):
    gone = []
    collect_all = Collecting.collect_all

    def noting(self, groups, out, allocate):
        gone.append(len(groups.numbers))
        return collect_all(self, groups, out, allocate)

    monkeypatch.setattr(Largest, "collect_all", noting)
    monkeypatch.setattr(Largest, "collect", lambda self, chunk, rows, allocate: max(chunk.elements()))
    assert list(largest(Dataset.range(1000).filter(lambda x: True), 4)) == list(range(3, 1000, 4))
    assert sum(gone) > 200
    assert len(gone) < 50


@given(st.lists(st.integers(0, 12), max_size=12), st.integers(1, 5), st.booleans())
def test_batches_across_pieces_come_together_but_for_those_across_an_empty_one(sizes, size, drop):
    cuts = np.cumsum([0, *sizes]).tolist()
    count, empty = cuts[-1], [low for low, high in pairwise(cuts) if low == high]

    def pieces(epoch, mark=None):
        for number in range(mark or 0, len(sizes)):
            values = np.arange(cuts[number], cuts[number + 1])
            yield Piece(Columns(LEAF, [values], len(values)), values, number + 1)

    def batches(mark=None):
        flow = Dataset.range(1).batch(size, drop_remainder=drop)._plan.flow((pieces,), 0, mark, np.empty)
        return [([batch.tolist() for batch in piece.chunk.elements()], piece.after) for piece in flow]

    expected = [list(range(low, min(low + size, count))) for low in range(0, count - (size - 1) * drop, size)]
    given = batches()
    assert [batch for some, _ in given for batch in some] == expected
    seen = 0
    for some, mark in given:
        if len(some) > 1:
            assert not any(some[0][0] < end <= some[-1][-1] for end in empty)
        seen += len(some)
        assert [batch for rest, _ in batches(mark) for batch in rest] == expected[seen:]
    assert empty or len(given) <= len(sizes) + 2  # with the first batch, which is made alone, and the rest

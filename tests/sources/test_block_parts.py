"""Columns of rows of several blocks, as if the blocks had been one; in memory that is given, where it fits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import Ragged
from penstock.elements.spec import ArraySpec, ObjectSpec, RaggedSpec
from penstock.sources import block_parts


class Words(list):
    """A lazy column."""

    def take(self, rows):
        return [self[row] for row in rows.tolist()]


def column_of(kind, ids):
    if kind == "pairs":
        return np.stack([ids, -ids], axis=1)
    return Ragged.from_rows([np.full(i % 4, i) for i in ids]) if kind == "lists" else Words(map(str, ids))


SPECS = {
    "pairs": ArraySpec((2,), np.dtype(np.int64)),
    "lists": RaggedSpec((None,), np.dtype(np.int64)),
    "words": ObjectSpec(str),
}


@pytest.mark.parametrize("kind", SPECS)
@given(rows=st.lists(st.lists(st.integers(0, 9), max_size=6), max_size=4), random=st.randoms())
def test_rows_come_in_the_requested_order(kind, rows, random):
    ids = [row + 10 * number for number, wanted in enumerate(rows) for row in wanted]
    places = list(range(len(ids)))
    random.shuffle(places)
    made = block_parts.column_parts(SPECS[kind], len(ids), None)
    columns = [column_of(kind, np.arange(10) + 10 * number) for number in range(len(rows))]
    cuts = np.cumsum([0, *map(len, rows)]).tolist()
    split = random.randint(0, len(rows))  # two groups of blocks
    for low, high in ((0, split), (split, len(rows))):
        inner = slice(cuts[low], cuts[high])
        owners = np.repeat(np.arange(high - low), [len(wanted) for wanted in rows[low:high]])
        numbers = np.array(ids[inner], np.int64) % 10
        there = [cut - cuts[low] for cut in cuts[low : high + 1]]
        picks = block_parts.Picks(there, owners, numbers, np.array(places[inner], np.int64))
        made.put(columns[low:high], picks)
    found = made.done()
    order = np.argsort(places)
    expected = column_of(kind, np.array(ids, np.int64)[order]) if ids else []
    assert [np.array(each).tolist() for each in found] == [np.array(each).tolist() for each in expected]


def test_rows_are_copied_into_given_memory():
    memory = np.zeros((2, 2), np.int64)
    made = block_parts.column_parts(SPECS["pairs"], 2, memory)
    owners, rows, places = np.array([0, 1]), np.array([3, 4]), np.array([1, 0])
    made.put([column_of("pairs", np.arange(10))] * 2, block_parts.Picks([0, 1, 2], owners, rows, places))
    assert made.done() is memory
    assert memory.tolist() == [[4, -4], [3, -3]]


def test_given_memory_is_used_if_it_fits():
    column, rows = np.arange(10), np.array([3, 1])
    memory = np.zeros(2, np.int64)
    assert block_parts.picked(column, rows, memory) is memory
    assert memory.tolist() == [3, 1]
    assert block_parts.given(column[:2], memory) is memory
    assert memory.tolist() == [0, 1]
    for other in (None, np.zeros(3, np.int64), np.zeros(2, np.int32)):
        assert block_parts.picked(column, rows, other).tolist() == [3, 1]
        assert block_parts.given(rows, other) is rows

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
    count = sum(map(len, rows))
    made = block_parts.column_parts(SPECS[kind], count)
    low, ids = 0, []
    for number, wanted in enumerate(rows):
        block = np.arange(10) + 10 * number
        made.put(column_of(kind, block), np.array(wanted, np.int64), low)
        low += len(wanted)
        ids += block[wanted].tolist()
    back = list(range(count))
    random.shuffle(back)
    found = made.done(np.array(back, np.int64), None)
    expected = column_of(kind, np.array(ids, np.int64)[back]) if count else []
    assert [np.array(each).tolist() for each in found] == [np.array(each).tolist() for each in expected]


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

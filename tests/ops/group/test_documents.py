"""Documents read ahead: any of them can be gone back to, however they came."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.errors import ElementError
from penstock.elements.chunks.chunk import Items
from penstock.elements.nested.nesting import leaf_column
from penstock.elements.ragged import Ragged
from penstock.ops.group.documents import Documents
from penstock.plan.flow import Piece


class Source:
    """Documents in pieces of these sizes, arrays or `Ragged`; document i has i tokens i. Open streams are counted."""

    def __init__(self, sizes, ragged):
        self.sizes = sizes
        self.ragged = ragged
        self.open = 0

    def __call__(self, epoch, mark=None):
        assert epoch == 3
        self.open += 1
        try:
            ends = np.cumsum([0, *self.sizes]).tolist()
            for number in range(mark or 0, len(self.sizes)):
                rows = range(ends[number], ends[number + 1])
                arrays = [np.full(row, row) for row in rows]
                chunk = Items(arrays)
                if self.ragged[number % len(self.ragged)]:
                    chunk = leaf_column(Ragged.from_rows([np.zeros(1, int), *arrays])[1:])
                yield Piece(chunk, np.array(rows, np.int64), number + 1)
        finally:
            self.open -= 1


def texts(documents):
    held, *table = documents.texts
    arrays = [array for each in held for array in each.arrays]
    rows = zip(*table, strict=True)
    return [arrays[of][start : start + length].tolist() if length else [] for of, start, length in rows]


@given(
    st.lists(st.integers(0, 5), max_size=8),
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 6)), max_size=8),
    st.lists(st.booleans(), min_size=1, max_size=3),
)
def test_a_mark_leads_back_to_its_document(sizes, steps, ragged):
    source, count = Source(sizes, ragged), sum(sizes)
    dropped = 0
    with Documents(source, 3, None, None) as documents:
        for tokens, most in steps:
            enough = documents.fill(tokens)
            held = len(documents)
            assert documents.texts.lengths.tolist() == list(range(dropped, dropped + held))
            assert texts(documents) == [[row] * row for row in range(dropped, dropped + held)]
            assert documents.tokens == sum(range(dropped, dropped + held))
            assert enough == (documents.tokens >= tokens)
            assert enough or dropped + held == count
            for index in range(held + 1):
                with Documents(source, 3, documents.mark(index), None) as again:
                    again.fill(1 << 30)
                    assert again.texts.lengths.tolist() == list(range(dropped + index, count))
            drop = min(most, held)
            documents.drop(drop)
            dropped += drop
    assert source.open == 0


def test_tokens_under_a_key():
    def source(epoch, mark=None):
        yield Piece(Items([{"ids": [1, 2]}, {"ids": np.array([3])}]), np.arange(2), 1)
        yield Piece(Items([{"ids": np.array([4], np.int16)}]), np.arange(2, 3), 2)

    with Documents(source, 0, None, "ids") as documents:
        assert documents.fill(3)
        assert texts(documents) == [[1, 2], [3]]
        assert documents.dtype == np.int64
        with pytest.raises(ElementError, match="token ids under 'ids' are int64, but those of row 2 are int16"):
            documents.fill(4)

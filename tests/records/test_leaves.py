"""Values of some records as elements and as batches."""

from __future__ import annotations

import numpy as np

from penstock import Ragged, Sparse
from penstock.records.leaves import Fixed, Lengths, Listed, Padded, Placed, Uneven, placed, sparse_of

ROWS = Ragged.from_rows([[1], [], [2, 3]])


def test_a_batch_is_a_part_of_the_records() -> None:
    assert Fixed(np.arange(6).reshape(3, 2)).batch(1, 3).tolist() == [[2, 3], [4, 5]]
    assert Lengths(np.array([1, 0, 2])).batch(1, 3).tolist() == [0, 2]
    assert Uneven(ROWS, "int32").batch(1, 3) == Ragged.from_rows([[], [2, 3]]).with_splits("int32")
    assert Padded(ROWS, -1).batch(0, 2).tolist() == [[1], [-1]]
    assert Listed(ROWS).batch(0, 2) == Sparse([[0, 0]], np.array([1]), (2, 1))
    assert Placed(sparse_of(ROWS)).batch(2, 3) == Sparse([[0, 0], [0, 1]], np.array([2, 3]), (1, 2))


def test_each_element_has_its_own_shape() -> None:
    assert [part.dense_shape for part in Listed(ROWS).column()] == [(1,), (0,), (2,)]
    deep = Ragged.from_rows([[[1, 2], []], []])
    assert [part.dense_shape for part in Listed(deep).column()] == [(2, 2), (0, 0)]


def test_sparse_values_are_sorted_by_row_and_index() -> None:
    record, index = np.array([0, 0, 1]), np.array([5, 2, 0])
    assert placed([record, index], np.array([1, 2, 3]), (2, 9)) == Sparse(
        [[0, 2], [0, 5], [1, 0]], np.array([2, 1, 3]), (2, 9)
    )
    wide = placed([record, index, index], np.array([1, 2, 3]), (2, 1 << 31, 1 << 31))
    assert wide.values.tolist() == [2, 1, 3]

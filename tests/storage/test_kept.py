from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from penstock.elements.chunks.chunk import Items
from penstock.elements.nested.nesting import leaf_column
from penstock.elements.ragged import Ragged
from penstock.elements.sparse import Sparse
from penstock.storage.kept import KeptRows, KeptStream

orders = st.lists(st.lists(st.integers(0, 9), min_size=1, unique=True), max_size=8)


@given(orders, st.booleans())
def test_rows_are_returned_in_any_order_of_insertion(orders, as_list):
    kept = KeptRows(10)
    here = set()
    for rows in orders:
        positions = kept.missing(np.array(rows))
        assert set(positions.tolist()) == set(rows) - here
        values = positions * 2.5
        kept.put(positions, Items(values.tolist()) if as_list and len(here) > 3 else leaf_column(values))
        here |= set(rows)
        assert kept.take(np.array(rows)).elements() == [row * 2.5 for row in rows]


def test_columns_become_a_list_if_shapes_differ():
    kept = KeptRows(3)
    kept.put(np.array([0]), leaf_column(np.zeros((1, 2))))
    kept.put(np.array([2]), leaf_column(np.ones((1, 3))))
    assert [element.tolist() for element in kept.take(np.array([2, 0])).elements()] == [[1, 1, 1], [0, 0]]


def test_a_stream_is_kept_from_its_beginning():
    kept = KeptStream()
    kept.add(3, Items([3]), "later")
    assert kept.count == 0
    kept.add(0, Items([0, 1]), "two")
    kept.add(2, Items([2]), "three")
    kept.add(2, Items([9]), "again")
    assert (kept.count, kept.after) == (3, "three")
    assert kept.from_here(1).elements() == [1]
    assert kept.from_here(2).elements() == [2]
    kept.end(2)
    assert not kept.complete
    kept.end(3)
    assert kept.complete


def test_ragged_and_sparse_leaves_are_sealed_as_arrays_are():
    kept = KeptRows(1)
    kept.put(np.array([0]), Items([(Ragged.from_rows([[1], [2, 3]]), Sparse.from_dense([0, 5]))]))
    ((ragged, sparse),) = kept.take(np.array([0])).elements()
    assert not ragged.writeable
    assert not sparse.writeable
    assert ragged.owned().writeable

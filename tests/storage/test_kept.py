from __future__ import annotations

import numpy as np
import pytest
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


def up_to(limit):
    """Return the function that lets so many bytes be kept."""
    kept = []

    def grow(nbytes, count):
        if sum(kept) + nbytes > limit:
            return False
        kept.append(nbytes)
        return True

    return grow


@pytest.mark.parametrize("as_columns", [False, True])
def test_rows_that_may_not_grow_the_memory_are_not_kept(as_columns):
    kept = KeptRows(8, up_to(100))
    values = np.arange(32).reshape(8, 4)  # 32 bytes a row

    def chunk(rows):
        return leaf_column(values[rows].copy()) if as_columns else Items(list(values[rows].copy()))

    assert kept.put(np.array([5, 2]), chunk([5, 2]))
    assert kept.put(np.array([5, 0]), chunk([5, 0]))  # one of them is new
    assert not kept.put(np.array([1]), chunk([1]))
    assert kept.put(np.array([2, 5]), chunk([2, 5]))  # nothing new
    wanted = np.array([7, 5, 1, 7, 0, 2, 3])
    missing = kept.missing(wanted)
    assert missing.tolist() == [1, 3, 7]
    found = kept.among(wanted, missing, chunk([1, 3, 7])).elements()
    assert [row.tolist() for row in found] == values[wanted].tolist()
    assert not any(row.flags.writeable for row in found)


def test_rows_that_are_all_missing_come_as_they_were_made():
    kept = KeptRows(8, up_to(0))
    rows = np.array([2, 5])
    assert [row.tolist() for row in kept.among(rows, rows, leaf_column(np.ones((2, 3)))).elements()] == [[1, 1, 1]] * 2


def test_a_stream_that_may_not_grow_the_memory_ends_where_it_was_kept_to():
    kept = KeptStream(up_to(100))
    kept.add(0, Items([1, 2]), "after 2", nbytes=60)
    kept.add(2, Items([3]), "after 3", nbytes=60)
    kept.add(3, Items([4]), "after 4", nbytes=1)  # does not follow
    kept.end(4)
    assert (kept.count, kept.after, kept.complete) == (2, "after 2", False)
    kept.add(2, Items([3]), "after 3", nbytes=40)
    assert (kept.count, kept.after) == (3, "after 3")

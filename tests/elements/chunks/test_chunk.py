from __future__ import annotations

import pickle
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.errors import ElementError
from penstock.elements.chunks.chunk import Columns, Fresh, Items, concat
from penstock.elements.chunks.to_arrays import stack_all
from penstock.elements.nested.structure import LEAF, flatten
from penstock.elements.ragged import Ragged
from penstock.elements.sparse import Sparse
from penstock.testing.laws import difference


def stacked(chunk, out=None, rows=None):
    """Return an array for each leaf of a chunk."""
    rows = np.arange(len(chunk)) if rows is None else rows
    return stack_all(chunk, rows, out=out, allocate=np.empty)[1]


class Point(NamedTuple):
    x: object
    y: object


makers = st.sampled_from(
    [
        lambda i: i,
        lambda i: (i, str(i)),
        lambda i: {"b": i, "a": float(i)},
        lambda i: {"c": i, "b": i, "a": i},
        lambda i: {"x": (i, [str(i)])},
        lambda i: Point(i, {"a": i}),
        lambda i: [i],
        lambda i: {"a": i} if i % 2 else {"a": -i},
        lambda i: None,
        lambda i: {},
        lambda i: (),
        lambda i: (i, None),
        str,
    ]
)


@given(makers, st.integers(1, 6))
def test_columns_and_items_hold_the_same_elements(make, count):
    elements = [make(i) for i in range(count)]
    items = Items(list(elements))
    columns = items.to_columns()
    assert len(items) == len(columns) == count
    assert columns.elements() == items.elements() == elements
    assert [type(element) for element in columns.elements()] == [type(element) for element in elements]
    assert [columns.element(i) for i in range(-count, count)] == [items.element(i) for i in range(-count, count)]


@given(makers, st.integers(1, 6), st.data())
def test_slices_and_selections_are_those_of_the_elements(make, count, data):
    elements = [make(i) for i in range(count)]
    items = Items(list(elements))
    lo, hi = data.draw(st.integers(0, count)), data.draw(st.integers(0, count + 2))
    indices = data.draw(st.lists(st.integers(0, count - 1), max_size=4))
    for chunk in (items, items.to_columns()):
        assert chunk.slice(lo, hi).elements() == elements[lo:hi]
        assert len(chunk.slice(lo, hi)) == len(elements[lo:hi])
        assert chunk.select(indices).elements() == [elements[i] for i in indices]
        assert len(chunk.select(indices)) == len(indices)


@given(makers, st.lists(st.integers(1, 3), min_size=1, max_size=4), st.booleans())
def test_concatenation_keeps_the_order_of_elements(make, sizes, as_columns):
    parts = [[make(i) for i in range(size)] for size in sizes]
    chunks = [Items(part).to_columns() if as_columns else Items(part) for part in parts]
    assert concat(chunks).elements() == [element for part in parts for element in part]


def test_one_element_is_taken_without_making_the_others():
    made = []

    class Noting(np.ndarray):
        def tolist(self):
            made.append(len(self))
            return super().tolist()

    class NotingList(list):
        def __iter__(self):
            made.append(len(self))
            return super().__iter__()

        def __getitem__(self, key):
            got = super().__getitem__(key)
            return NotingList(got) if isinstance(key, slice) else got

    columns = [np.arange(1000).view(Noting), NotingList(map(str, range(1000))), np.zeros((1000, 3))]
    chunk = Columns(flatten({"n": 0, "s": "", "x": 0})[1], columns, 1000)
    one = chunk.element(-7)
    assert (one["n"], one["s"], one["x"].shape) == (993, "993", (3,))
    assert made == [1]
    with pytest.raises(IndexError, match="element 1000 is out of range: the chunk has 1000 elements"):
        chunk.element(1000)


def test_array_columns_give_numbers_and_views():
    chunk = Columns(flatten({"x": 0, "y": 0})[1], [np.arange(3), np.zeros((3, 2))], 3)
    first = chunk.elements()[0]
    assert type(first["x"]) is type(chunk.element(0)["x"]) is int
    assert first["y"].base is not None
    assert chunk.slice(1, 3).columns[0].base is not None


@pytest.mark.parametrize("dtype", [np.int64, np.float64, np.bool_, np.int32, np.float32, np.uint64, ">i8"])
def test_numbers_become_python_numbers_if_no_dtype_is_lost(dtype):
    chunk = Columns(LEAF, [np.zeros(2, dtype)], 2)
    pythons = np.dtype(dtype) in (np.dtype(np.int64), np.dtype(np.float64), np.dtype(bool))
    assert all(isinstance(x, np.generic) is not pythons for x in [*chunk.elements(), chunk.element(1)])
    assert stacked(Items(chunk.elements()))[0].dtype == np.dtype(dtype).newbyteorder("=")


def test_concatenation_keeps_equal_columns_and_falls_back_to_elements():
    together = concat([Columns(LEAF, [np.arange(2)], 2), Columns(LEAF, [np.arange(1)], 1)])
    assert isinstance(together, Columns)
    assert together.columns[0].tolist() == [0, 1, 0]
    apart = concat([Columns(LEAF, [np.zeros((2, 3))], 2), Columns(LEAF, [np.zeros((1, 4))], 1)])
    assert [element.shape for element in apart.elements()] == [(3,), (3,), (4,)]
    mixed = concat([Columns(LEAF, [np.arange(2)], 2), Items(["a"])])
    assert mixed.elements() == [0, 1, "a"]


def test_leaves_are_stacked_into_their_memory():
    chunk = Items([{"b": i, "a": np.full(2, i)} for i in range(3)])
    out = [np.empty((3, 2), np.int64), np.empty(3, np.int64)]
    arrays = stacked(chunk, out)
    assert arrays[0] is out[0]
    assert arrays[1] is out[1]
    assert out[0].tolist() == [[0, 0], [1, 1], [2, 2]]
    assert out[1].tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("elements", "message"),
    [
        ([{"a": 1}, {"a": 1}, {"b": 1}], 'rows 5 and 3 have different structures: {"a": *} against {"b": *}'),
        ([{"a": 1}, {"a": 1, "b": 2}], 'rows 5 and 4 have different structures: {"a": *} against {"a": *, "b": *}'),
        ([(1, 2), (1, 2, 3)], "rows 5 and 4 have different structures: (*, *) against (*, *, *)"),
        ([1, [1]], "rows 5 and 4 have different structures: * against [*]"),
        ([1, None], "rows 5 and 4 have different structures: * against None"),
        ([{"a": 1}, {"a": (1,)}], 'rows 5 and 4 have different structures: {"a": *} against {"a": (*,)}'),
        ([{"a": [1] * 500}, {"a": []}], 'rows 5 and 4 have lists of 500 and 0 items at ["a"]; each item is a leaf'),
        ([[1, 2], [1]], "rows 5 and 4 have lists of 2 and 1 items; each item is a leaf of its own: return an array"),
        ([{"a": [[1], [2]]}, {"a": [[1], 2]}], 'have different structures: {"a": [[*], [*]]} against'),
        ([{"b": [1], "a": 1}, {"b": [1, 1], "a": []}], 'have different structures: {"b": [*], "a": *} against'),
    ],
)
def test_different_structures_name_both_and_both_rows(elements, message):
    with pytest.raises(ElementError) as caught:
        Items(elements).to_columns(np.array([5, 4, 3]))
    assert message in str(caught.value)


def test_an_error_of_stacking_names_the_leaf_below_the_element():
    with pytest.raises(ElementError, match=r'rows 7 and 9 differ at \["x"\]\[0\]: shape \(2,\) against \(3,\)'):
        stacked(Items([{"x": [np.zeros(2)]}, {"x": [np.zeros(3)]}]), rows=np.array([7, 9]))


def test_an_element_beyond_the_chunk_is_an_index_error():
    for chunk in (Items([1, 2]), Items([1, 2]).to_columns(), Items([None, None]).to_columns()):
        for i in (2, -3):
            with pytest.raises(IndexError):
                chunk.element(i)


@pytest.mark.parametrize("column", [Ragged.from_rows([[1], [], [2, 3]]), Sparse.from_dense([[1, 0], [0, 0], [2, 3]])])
def test_ragged_and_sparse_rows_are_columns(column):
    chunk = Columns(LEAF, [column], 3)
    rows = list(column)
    for made, wanted in [
        (chunk.elements(), rows),
        (chunk.slice(1, 3).elements(), rows[1:]),
        (chunk.select([2, 0]).elements(), [rows[2], rows[0]]),
        (concat([chunk, chunk.slice(0, 1)]).elements(), [*rows, rows[0]]),
        (concat([chunk, Items(rows)]).elements(), [*rows, *rows]),
        ([chunk.element(2)], rows[2:]),
    ]:
        assert [difference(one, other) for one, other in zip(made, wanted, strict=True)] == [None] * len(wanted)
    assert isinstance(concat([chunk, chunk]).columns[0], type(column))


def test_columns_of_different_kinds_are_joined_as_lists():
    one, other = Ragged.from_rows([[1]]), Ragged.from_rows([[1.5]])
    assert [row.dtype for row in concat([Columns(LEAF, [each], 1) for each in (one, other)]).elements()] == ["i8", "f8"]


def test_numbers_are_the_same_however_rows_were_cut_into_chunks():
    narrow, wide = Columns(LEAF, [np.arange(2, dtype=np.int8)], 2), Columns(LEAF, [np.arange(2)], 2)
    together = concat([narrow, wide]).elements()
    assert list(map(type, together)) == list(map(type, narrow.elements() + wide.elements()))


# Elements that nobody else holds


@pytest.mark.parametrize("elements", [[], [1, 2], [{"x": [1]}, {"x": [2]}], [np.zeros(2)]])
def test_fresh_elements_keep_their_containers(elements):
    chunk = Fresh(elements)
    assert chunk.elements() is elements
    assert chunk.held() is elements
    assert len(chunk) == len(elements)


def test_shared_elements_get_new_containers():
    held = [{"x": [1]}]
    (element,) = Items(held).elements()
    element["x"].append(2)
    assert held == [{"x": [1]}]


def test_a_part_of_fresh_elements_is_copied_when_it_is_handed_on():
    """Both parts may have the same element, as `select` takes one twice."""
    one, two = Fresh([{"x": [1]}]).select([0, 0]).elements()
    one["x"].append(2)
    assert two == {"x": [1]}


def test_fresh_elements_can_be_pickled():
    there = pickle.loads(pickle.dumps(Fresh([{"x": np.arange(3)}])))
    assert type(there) is Fresh
    assert there.elements()[0]["x"].tolist() == [0, 1, 2]


def test_joined_chunks_keep_the_byte_order():
    parts = [Columns(LEAF, [np.arange(low, low + 3).astype(">i2")], 3) for low in (0, 3)]
    joined = concat(parts)
    assert joined.columns[0].dtype == np.dtype(">i2")
    assert joined.elements() == [0, 1, 2, 3, 4, 5]

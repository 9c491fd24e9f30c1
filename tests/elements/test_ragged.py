"""`Ragged`: built from rows, sliced, concatenated and padded, always with the rows of the equivalent lists."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from penstock.core.errors import ElementError
from penstock.elements.nested.structure import flatten, is_leaf
from penstock.elements.ragged import Ragged
from penstock.testing.laws import difference, same

NUMBERS = st.integers(-9, 9)
ROWS = st.lists(st.lists(NUMBERS, max_size=4), max_size=6)
NESTED = st.lists(st.lists(st.lists(NUMBERS, max_size=3), max_size=3), max_size=4)


def nested(rows):
    """Return a value with two ragged dimensions; `from_rows` cannot infer them from empty lists."""
    inner = Ragged.from_rows([cells for row in rows for cells in row], np.int64)
    return Ragged(inner, np.cumsum([0, *map(len, rows)]))


@given(ROWS)
def test_rows_are_restored_from_ragged(rows):
    ragged = Ragged.from_rows(rows, np.int64)
    assert ragged.tolist() == rows
    assert [row.tolist() for row in ragged] == rows
    assert [ragged[i].tolist() for i in range(len(rows))] == rows
    assert ragged.row_lengths().tolist() == list(map(len, rows))
    assert Ragged.from_rows(list(ragged), np.int64) == ragged
    assert Ragged.from_row_lengths(ragged.values, ragged.row_lengths()) == ragged


@given(NESTED)
def test_nested_rows_are_restored_from_ragged(rows):
    ragged = nested(rows)
    assert ragged.tolist() == rows
    assert [row.tolist() for row in ragged] == rows
    assert ragged.ragged_rank == 2
    assert ragged.shape == (len(rows), None, None)
    assert ragged.values.tolist() == [cells for row in rows for cells in row]
    if any(cells for row in rows for cells in row):
        assert Ragged.from_rows(rows) == ragged


@given(NESTED, st.data())
def test_slices_and_chosen_rows_are_those_of_the_list(rows, data):
    ragged = nested(rows)
    bounds = st.none() | st.integers(-6, 6)
    cut = slice(data.draw(bounds), data.draw(bounds), data.draw(st.sampled_from([None, 1, 2, -1])))
    assert ragged[cut].tolist() == rows[cut]
    assert ragged[cut][:2].tolist() == rows[cut][:2]
    if rows:
        chosen = data.draw(st.lists(st.integers(-len(rows), len(rows) - 1), max_size=6))
        assert ragged[chosen].tolist() == [rows[i] for i in chosen]
    mask = data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows)))
    assert ragged[np.array(mask, bool)].tolist() == [row for row, kept in zip(rows, mask, strict=True) if kept]


@given(st.lists(NESTED, min_size=1, max_size=4))
def test_stack_nests_its_parts_and_concatenate_joins_their_rows(parts):
    whole = Ragged.stack(list(map(nested, parts)))
    assert whole.tolist() == parts
    assert [whole[i] for i in range(len(parts))] == list(map(nested, parts))
    assert Ragged.concatenate(list(map(nested, parts))).tolist() == [row for part in parts for row in part]


@given(ROWS)
def test_padding_equals_that_of_lists(rows):
    widest = max(map(len, rows), default=0)
    padded = Ragged.from_rows(rows, np.int64).to_dense(fill=-1)
    assert padded.shape == (len(rows), widest)
    assert padded.tolist() == [row + [-1] * (widest - len(row)) for row in rows]
    assert Ragged.from_dense(padded, list(map(len, rows))).tolist() == rows if widest else True
    if all(-1 not in row for row in rows) and widest:
        assert Ragged.from_dense(padded, padding=-1).tolist() == rows


@given(NESTED)
def test_padding_of_several_ragged_dimensions(rows):
    ragged = nested(rows)
    dense = ragged.to_dense(shape=[4, None])
    for i, row in enumerate(rows):
        for j, cells in enumerate(row):
            assert dense[i, j, : len(cells)].tolist() == cells
    assert dense.shape[:2] == (len(rows), 4)
    assert dense.sum() == ragged.flat_values.sum()


def test_fixed_sizes_must_have_room():
    ragged = Ragged.from_rows([[1], [2, 3]])
    with pytest.raises(ElementError, match="a row has 2 values, more than 1"):
        ragged.to_dense(shape=[1])
    with pytest.raises(ElementError, match="expected 1 sizes"):
        ragged.to_dense(shape=[2, 2])


def test_inner_dimensions_are_uniform():
    ragged = Ragged.from_rows([np.zeros((2, 3), np.float32), np.ones((0, 3), np.float32)])
    assert ragged.shape == (2, None, 3)
    assert ragged.ndim == 3
    assert ragged.to_dense().shape == (2, 2, 3)
    assert ragged.nbytes == 6 * 4 + 3 * 8
    with pytest.raises(ElementError, match="rows 0 and 1 differ"):
        Ragged.from_rows([np.zeros((2, 3)), np.zeros((2, 2))])


def test_text_is_kept_as_objects():
    ragged = Ragged.from_rows([["a"], [], ["b", "cd"]])
    assert ragged.dtype == object
    assert ragged.to_dense().tolist() == [["a", ""], ["", ""], ["b", "cd"]]
    assert Ragged.from_rows([[b"a"], [b"a", b"b"]]).to_dense().tolist() == [[b"a", b""], [b"a", b"b"]]


@pytest.mark.parametrize("rows", [[1, 2], ["text"], [[1], 2], [[1, [2]]], [[1], ["a"]]])
def test_values_that_are_no_rows_are_refused(rows):
    with pytest.raises(ElementError, match=r"Ragged\.from_rows"):
        Ragged.from_rows(rows)


def test_splits_are_checked():
    with pytest.raises(ElementError, match="the last is 5, but there are 4 values"):
        Ragged(np.arange(4), [0, 5])
    with pytest.raises(ElementError, match="but there are 1 values"):
        Ragged(Ragged([1], [0, 1]), [0, 2])
    for lengths in ([3], [1, 2, 3], [-1, 0]):
        with pytest.raises(ElementError, match="lengths"):
            Ragged.from_dense(np.zeros((2, 2)), lengths)
    with pytest.raises(ElementError, match="two dimensions"):
        Ragged.from_dense([1, 2])


def test_rows_and_slices_are_views_and_chosen_rows_are_copies():
    ragged = Ragged(np.arange(5), [0, 2, 5])
    for view in (ragged[1], ragged[1:].flat_values, ragged.values, next(iter(ragged))):
        assert np.shares_memory(view, ragged.flat_values)
    assert not np.shares_memory(ragged[[1]].flat_values, ragged.flat_values)
    frozen = ragged.frozen()
    assert not frozen[0].flags.writeable
    assert not frozen.writeable
    assert frozen.owned().writeable
    assert ragged.owned() is ragged
    frozen.owned().row_splits[0] = 0
    with pytest.raises(IndexError, match="row 2 of 2; there are rows 0 to 1"):
        ragged[2]
    with pytest.raises(IndexError, match="row 2 of 2; there are rows 0 to 1"):
        ragged[[0, 2]]


def test_equal_means_the_same_contents_and_types():
    ragged = Ragged.from_rows([[1], [2, 3]])
    assert ragged == Ragged([1, 2, 3], [0, 1, 3])
    assert ragged[1:] == Ragged([2, 3], [0, 2])
    for other in (
        Ragged([1, 2, 3], [0, 2, 3]),
        Ragged([1, 2, 4], [0, 1, 3]),
        Ragged([1.0, 2.0, 3.0], [0, 1, 3]),
        Ragged([1, 2, 3], np.int32([0, 1, 3])),
        Ragged(ragged, [0, 2]),
        [[1], [2, 3]],
        np.array([1, 2, 3]),
    ):
        assert ragged != other
        assert other != ragged
        assert not same(ragged, other)
    with pytest.raises(TypeError, match="unhashable"):
        hash(ragged)


def test_the_laws_compare_every_bit():
    nan = Ragged.from_rows([[np.nan], [0.0]])
    assert same(nan, Ragged.from_rows([[np.nan], [0.0]]))
    assert not same(nan, Ragged.from_rows([[np.nan], [-0.0]]))
    assert difference({"x": nan}, {"x": nan[:1]}) == 'at ["x"]: ragged float64[2, ~] against ragged float64[1, ~]'


def test_values_are_leaves_and_can_be_pickled():
    ragged = Ragged(Ragged.from_rows([[1], [2, 3]]), np.int32([0, 2]))
    assert is_leaf(ragged)
    assert flatten({"x": ragged})[0] == [ragged]
    again = pickle.loads(pickle.dumps(ragged))
    assert same(again, ragged)
    assert ps.Ragged is Ragged


def test_splits_have_one_dtype():
    narrow = Ragged([1, 2], np.int32([0, 1, 2]))
    assert narrow[1:].row_splits.dtype == narrow[[1]].row_splits.dtype == np.int32
    assert Ragged.stack([narrow, narrow]).row_splits.dtype == np.int32
    assert Ragged.concatenate([narrow, narrow.with_splits(np.int64)]).row_splits.dtype == np.int64
    assert narrow.with_splits(np.int64) == Ragged([1, 2], [0, 1, 2])
    with pytest.raises(ElementError, match="ragged ranks"):
        Ragged.concatenate([narrow, narrow.fold(2)])


def test_memory_comes_from_the_caller():
    asked = []

    def allocate(shape, dtype):
        asked.append(shape)
        return np.empty(shape, dtype)

    ragged = Ragged.from_rows([[1], [2, 3]])
    ragged.take(np.array([1, 1]), allocate)
    Ragged.stack([ragged, ragged], allocate)
    ragged.to_dense(allocate=allocate)
    assert asked == [(4,), (6,), (2, 2)]


def test_the_repr_is_short():
    assert repr(Ragged.from_rows([[1], []])) == "Ragged([[1], []], int64[2, ~])"
    assert repr(Ragged.from_rows([["a", "b"]])) == "Ragged([['a', 'b']], object[1, ~])"
    long = Ragged.from_rows([range(9)] * 99)
    assert repr(long) == f"Ragged([{', '.join(['[0, 1, 2, 3, 4, 5, ...]'] * 6)}, ...], int64[99, ~])"
    assert len(repr(Ragged.stack([long] * 9))) < 1200


def test_rows_and_values_of_no_size_become_dense_and_back():
    ragged = Ragged.from_rows([np.zeros((1, 0)), np.zeros((2, 0))])
    assert ragged.to_dense().shape == (2, 2, 0)
    assert Ragged.from_dense(np.zeros((3, 0)), padding=0).row_lengths().tolist() == [0, 0, 0]
    assert len(Ragged.from_dense(np.zeros((0, 0)), padding=0)) == 0

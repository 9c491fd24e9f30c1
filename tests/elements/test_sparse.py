"""`Sparse`: built, sliced and concatenated, always equal to the equivalent dense array."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from penstock.core.errors import ElementError
from penstock.elements.nested.structure import flatten, is_leaf
from penstock.elements.sparse import Sparse
from penstock.testing.laws import difference, same


@st.composite
def arrays(draw, least=1, most=3):
    shape = tuple(draw(st.lists(st.integers(0, 4), min_size=least, max_size=most)))
    count = int(np.prod(shape))
    cells = draw(st.lists(st.sampled_from([0, 0, 0, 1, 2]), min_size=count, max_size=count))
    return np.array(cells, np.int64).reshape(shape)


@given(arrays())
def test_the_dense_array_is_restored(dense):
    sparse = Sparse.from_dense(dense)
    np.testing.assert_array_equal(sparse.to_dense(), dense)
    assert sparse.shape == dense.shape
    assert (sparse.values != 0).all()
    assert Sparse(sparse.indices, sparse.values, dense.shape) == sparse
    backwards = [column[::-1] for column in np.nonzero(dense)]
    assert Sparse.from_coo(backwards, dense[tuple(backwards)], dense.shape) == sparse


@given(arrays(2), st.data())
def test_slices_and_chosen_rows_are_those_of_the_array(dense, data):
    sparse = Sparse.from_dense(dense)
    bounds = st.none() | st.integers(-6, 6)
    cut = slice(data.draw(bounds), data.draw(bounds), data.draw(st.sampled_from([None, 1, 2, -1])))
    assert sparse[cut] == Sparse.from_dense(dense[cut])
    assert sparse[cut][:2] == Sparse.from_dense(dense[cut][:2])
    assert list(sparse) == list(map(Sparse.from_dense, dense))
    if len(dense):
        chosen = data.draw(st.lists(st.integers(-len(dense), len(dense) - 1), max_size=6))
        assert sparse[chosen] == Sparse.from_dense(dense[np.array(chosen, int)])


@given(arrays(1, 1))
def test_elements_of_a_one_dimensional_sparse_are_numbers(dense):
    for made, wanted in zip(Sparse.from_dense(dense), dense, strict=True):
        assert same(made, wanted)


@given(arrays(), st.integers(1, 3))
def test_stacks_and_concatenations(dense, count):
    parts = [Sparse.from_dense(dense)] * count
    assert Sparse.stack(parts) == Sparse.from_dense(np.stack([dense] * count))
    assert Sparse.concatenate(parts) == Sparse.from_dense(np.concatenate([dense] * count))
    folded = Sparse.concatenate(parts).fold(len(dense)) if len(dense) else Sparse.stack(parts)
    assert folded == Sparse.stack(parts)


@given(arrays(2, 2))
def test_compressed_rows_are_converted_both_ways(dense):
    sparse = Sparse.from_dense(dense)
    values, columns, splits = sparse.csr()
    for i, row in enumerate(dense):
        assert columns[splits[i] : splits[i + 1]].tolist() == np.flatnonzero(row).tolist()
    assert Sparse.from_csr(values, columns, splits, dense.shape) == sparse


def test_given_zeros_are_kept():
    sparse = Sparse([[1]], [0], [3])
    assert sparse.to_dense().tolist() == [0, 0, 0]
    assert sparse != Sparse.from_dense([0, 0, 0])
    assert sparse.to_dense(fill=7).tolist() == [7, 0, 7]


@pytest.mark.parametrize(
    ("indices", "values", "shape", "match"),
    [
        ([[0, 3]], [1], (2, 3), r"index \[0, 3\] is outside the shape \[2, 3\]"),
        ([[-1, 0]], [1], (2, 3), r"index \[-1, 0\] is outside"),
        ([[1, 0], [0, 1]], [1, 2], (2, 3), r"index \[1, 0\] comes before \[0, 1\].*from_coo\(\) sorts"),
        ([[1, 0], [1, 0]], [1, 2], (2, 3), r"index \[1, 0\] comes twice"),
        ([[0, 0]], [1, 2], (2, 3), r"indices int64\[1, 2\] for values int64\[2\]"),
        ([[0]], [1], (2, 3), "expected whole numbers of shape"),
        ([[0.5, 0]], [1], (2, 3), "expected whole numbers"),
        ([[0, 0]], [[1]], (2, 3), "values of one dimension"),
        ([], [], (), "dense_shape"),
        ([], [], (-1,), "dense_shape"),
        ([], [], (1 << 40, 1 << 40), r"below 2\*\*63"),
    ],
)
def test_what_does_not_fit_is_refused(indices, values, shape, match):
    with pytest.raises(ElementError, match=match):
        Sparse(indices, values, shape)


def test_other_constructors_check_their_arguments():
    with pytest.raises(ElementError, match="expected 2 arrays of 1 coordinates"):
        Sparse.from_coo(([0],), [1], (2, 2))
    with pytest.raises(ElementError, match="comes twice"):
        Sparse.from_coo(([0, 0], [1, 1]), [1, 2], (2, 2))
    with pytest.raises(ElementError, match="expected one more than the number of rows"):
        Sparse.from_csr([1], [0], [0, 1], (2, 2))
    with pytest.raises(ElementError, match="a number has no dimensions"):
        Sparse.from_dense(3)
    with pytest.raises(ElementError, match="two dimensions, but this array has 1"):
        Sparse.from_dense([1]).csr()
    with pytest.raises(ElementError, match="do not fit together"):
        Sparse.stack([Sparse.from_dense([1]), Sparse.from_dense([1, 2])])
    with pytest.raises(ElementError, match="do not fit together"):
        Sparse.concatenate([Sparse.from_dense([[1]]), Sparse.from_dense([[1, 2]])])


def test_another_shape_must_have_room():
    sparse = Sparse.from_dense([[0, 5]])
    assert sparse.resized((3, 4)).to_dense().tolist() == [[0, 5, 0, 0], [0] * 4, [0] * 4]
    with pytest.raises(ElementError, match="outside the shape"):
        sparse.resized((3, 1))


def test_slices_are_views_and_frozen_ones_are_copied_where_owned():
    sparse = Sparse.from_dense([[1, 0], [0, 2]])
    assert np.shares_memory(sparse[1].values, sparse.values)
    assert np.shares_memory(sparse[1:].values, sparse.values)
    frozen = sparse.frozen()
    assert not frozen[0].values.flags.writeable
    assert frozen.owned().writeable
    assert sparse.owned() is sparse
    frozen.owned().indices[0] = 0
    with pytest.raises(IndexError):
        sparse[2]


def test_equal_means_the_same_contents_and_types():
    sparse = Sparse.from_dense([1, 0])
    assert sparse == Sparse([[0]], [1], [2])
    for other in (
        Sparse([[1]], [1], [2]),
        Sparse([[0]], [2], [2]),
        Sparse([[0]], [1.0], [2]),
        Sparse([[0]], [1], [3]),
        [1, 0],
        np.array([1, 0]),
    ):
        assert sparse != other
        assert other != sparse
        assert not same(sparse, other)
    with pytest.raises(TypeError, match="unhashable"):
        hash(sparse)
    assert difference((sparse,), (Sparse([[0]], [1], [3]),)) == "at [0]: sparse int64[2] against sparse int64[3]"


def test_values_are_leaves_and_can_be_pickled():
    sparse = Sparse.from_dense([[1, 0]])
    assert is_leaf(sparse)
    assert flatten([sparse])[0] == [sparse]
    assert same(pickle.loads(pickle.dumps(sparse)), sparse)
    assert sparse.nbytes == 8 + 16
    assert ps.Sparse is Sparse


def test_the_repr_is_short():
    assert repr(Sparse.from_dense(np.arange(99))) == (
        "Sparse({(1,): 1, (2,): 2, (3,): 3, (4,): 4, (5,): 5, (6,): 6, 92 more}, int64[99])"
    )
    assert repr(Sparse.from_coo(([0],), ["a"], (2,))) == "Sparse({(0,): 'a'}, object[2])"


def test_text_can_be_sparse():
    sparse = Sparse.from_coo(([1],), ["a"], (3,))
    assert sparse.to_dense().tolist() == ["", "a", ""]
    assert [sparse[i] for i in range(3)] == ["", "a", ""]

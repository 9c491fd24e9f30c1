from __future__ import annotations

import pickle
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.errors import ElementError
from penstock.elements.ragged import Ragged
from penstock.elements.sparse import Sparse
from penstock.elements.spec import ArraySpec, ObjectSpec, RaggedSpec, SparseSpec
from penstock.sources.arrays import slices
from penstock.testing.laws import same


class Pair(NamedTuple):
    x: object
    y: object


def read(source, *rows, out=None):
    return source.read_many(np.array(rows, np.int64), out)


@given(st.lists(st.integers(0, 9), max_size=20), st.sampled_from(["C", "F", "strided", "reversed"]), st.booleans())
def test_reading_rows_is_indexing(rows, order, given_memory):
    array = np.arange(60, dtype=np.int16).reshape(10, 6)
    array = {"C": array, "F": np.asfortranarray(array), "strided": array[:, ::2], "reversed": array[::-1]}[order]
    source = slices({"x": array, "names": [str(i) for i in range(10)]})
    out = [np.empty(0), np.empty((len(rows), array.shape[1]), np.int16)] if given_memory else None
    chunk = read(source, *rows, out=out)
    names, x = chunk.columns
    assert len(chunk) == len(rows)
    assert names == [str(row) for row in rows]
    assert (x == array[rows]).all()
    if out is not None:
        assert x is out[1]


def test_consecutive_rows_are_a_read_only_view():
    array = np.arange(10)
    source = slices(array)
    (column,) = read(source, 3, 4, 5).columns
    assert np.shares_memory(column, array)
    with pytest.raises(ValueError, match="read-only"):
        column[0] = 1
    array[3] = 0  # the caller's own array stays writable
    assert not np.shares_memory(read(source, 3, 5, 4).columns[0], array)
    assert not np.shares_memory(read(source, 3, 3, 5).columns[0], array)


def test_memory_of_another_shape_or_dtype_is_not_used():
    source = slices(np.arange(10))
    for out in (np.empty(3), np.empty(4, np.int64)):
        (column,) = read(source, 1, 5, 2, out=[out]).columns
        assert column.tolist() == [1, 5, 2]
        assert column is not out


@pytest.mark.parametrize(
    ("tensors", "elements"),
    [
        ([1, 2], [1, 2]),
        ([[1, 2], [3, 4]], [[1, 2], [3, 4]]),
        (([1, 2], (["a", "b"],)), [(1, ("a",)), (2, ("b",))]),
        ({"a": range(2)}, [{"a": 0}, {"a": 1}]),
        (Pair([1.5, 2], [b"\0", b"x\0"]), [Pair(1.5, b"\0"), Pair(2.0, b"x\0")]),
        (np.array(["a", "bb"]), ["a", "bb"]),
        (np.array([{1}, "x"], object), [{1}, "x"]),
        (np.zeros((2, 0)), [[], []]),
    ],
)
def test_lists_become_arrays_and_tuples_and_dicts_are_structure(tensors, elements):
    source = slices(tensors)
    assert source.length == 2
    found = [e.tolist() if isinstance(e, np.ndarray) else e for e in read(source, 0, 1).elements()]
    assert found == elements


@pytest.mark.parametrize(
    ("tensors", "spec"),
    [
        (np.zeros((2, 3), "u1"), ArraySpec((3,), "u1")),
        ([1, 2], ArraySpec((), "i8")),
        (["a"], ObjectSpec(str)),
        (np.array(["a"]), ObjectSpec(str)),
        ([b"a"], ObjectSpec(bytes)),
        (np.array(["a", b"b"], object), ObjectSpec(object)),
        ([], ArraySpec((), "f8")),
    ],
)
def test_the_spec_is_that_of_one_slice(tensors, spec):
    assert slices(tensors).spec() == spec


def test_arrays_of_arrays_have_unknown_dimensions():
    ragged = np.empty(2, object)
    ragged[:] = [np.zeros(2), np.zeros(3)]
    assert slices(ragged).spec() == ArraySpec((None,), "f8")
    assert [e.shape for e in read(slices(ragged), 0, 1).elements()] == [(2,), (3,)]


@pytest.mark.parametrize(
    ("tensors", "message"),
    [
        ({"a": np.zeros(2), "b": np.zeros(3)}, '["b"] has 3 rows and ["a"] has 2'),
        ({}, "no array to slice"),
        (None, "no array to slice"),
        (5, "is of type int, which has no rows"),
        ((1, 2), "1 at [0] is of type int"),
        ("abc", "is of type str, which has no rows"),
        (np.float32(1), "which has no rows"),
        (np.zeros(()), "has shape ()"),
        ([[1], [2, 3]], "does not make one array"),
        ({"x": [1, "a"]}, 'the list at ["x"] of int, str does not make one array of numbers; Dataset.from_source'),
        ([{"a": 1}], "of dict does not make one array"),
        (np.array([{"a": 1}], object), "holds dicts, lists or tuples"),
        ([2**70], "of int does not make one array"),
        ({"a": {1, 2}}, "is of type set, which has no rows"),
    ],
)
def test_values_that_cannot_be_sliced_are_refused_by_name(tensors, message):
    with pytest.raises(ElementError) as caught:
        slices(tensors)
    assert message in str(caught.value)


def test_rows_out_of_range_are_an_error():
    with pytest.raises(IndexError):
        read(slices(np.arange(3)), 0, 2, 3)


def test_the_fingerprint_follows_structure_and_content():
    array = np.arange(12.0).reshape(4, 3)
    same = slices({"x": array, "n": ["a"] * 4})
    again = pickle.loads(pickle.dumps(slices({"x": np.asfortranarray(array), "n": ["a"] * 4})))
    assert same.fingerprint() == again.fingerprint()
    changed = array.copy()
    changed[3, 2] += 1
    others = [
        {"x": changed, "n": ["a"] * 4},
        {"x": array, "n": ["a", "a", "a", "b"]},
        {"y": array, "n": ["a"] * 4},
        {"x": array.reshape(4, 3, 1), "n": ["a"] * 4},
        {"x": array.astype("f4"), "n": ["a"] * 4},
        {"x": array, "n": [b"a"] * 4},
    ]
    prints = {same.fingerprint(), *(slices(other).fingerprint() for other in others)}
    assert len(prints) == 7
    assert slices(["ab", "c"]).fingerprint() != slices(["a", "bc"]).fingerprint()


@pytest.mark.parametrize("shape", [(70, 1 << 16), (1, 70 << 16), (70 << 16,)])
def test_the_fingerprint_of_a_large_array_covers_blocks_of_all_regions(shape, monkeypatch):
    monkeypatch.setattr("penstock.core.digest._WHOLE", 64 << 16)  # instead of 64 MiB
    array = np.zeros(shape, np.uint8)
    before = slices(array).fingerprint()
    assert slices(np.asfortranarray(array)).fingerprint() == before
    array.reshape(-1)[-1] = 1
    assert slices(array).fingerprint() != before
    array.reshape(-1)[-1] = 0
    array.reshape(-1)[35 << 16 : 36 << 16] = 1
    assert slices(array).fingerprint() != before


def test_a_source_can_be_pickled():
    source = pickle.loads(pickle.dumps(slices({"x": np.arange(4)})))
    assert read(source, 2).elements() == [{"x": 2}]
    assert source.describe(2) == "slice 2 of the array"


RAGGED = Ragged.from_rows([[1], [], [2, 3]])
DEEP = Ragged(RAGGED, [0, 1, 1, 3])
SPARSE = Sparse.from_dense([[1, 0], [0, 0], [0, 2]])


@pytest.mark.parametrize("rows", [[0, 1, 2], [1, 2], [2, 0, 0], []])
def test_ragged_and_sparse_leaves_are_sliced_by_rows(rows):
    source = slices({"one": RAGGED, "two": DEEP, "sparse": SPARSE})
    made = read(source, *rows, out=[np.zeros(0)] * 3).elements()
    assert same(made, [{"one": RAGGED[row], "two": DEEP[row], "sparse": SPARSE[row]} for row in rows])
    assert source.spec() == {
        "one": ArraySpec((None,), "i8", np.dtype(np.int64)),
        "two": RaggedSpec((None, None), "i8"),
        "sparse": SparseSpec((2,), "i8"),
    }


def test_ragged_and_sparse_slices_are_read_only():
    source = slices((RAGGED, SPARSE))
    one, sparse = read(source, 0).elements()[0]
    assert not one.flags.writeable
    assert not sparse.values.flags.writeable
    assert RAGGED.writeable
    assert SPARSE.writeable


def test_the_fingerprint_follows_ragged_and_sparse_contents():
    leaves = [RAGGED, DEEP, SPARSE, Ragged([1, 2, 3], [0, 2, 2, 3]), Ragged([1, 2, 4], RAGGED.row_splits)]
    leaves += [Sparse(SPARSE.indices, [1, 3], (3, 2)), Sparse(SPARSE.indices, [1, 2], (3, 4))]
    assert len({slices(leaf).fingerprint() for leaf in leaves}) == len(leaves)
    assert slices(RAGGED).fingerprint() == slices(Ragged.from_rows(list(RAGGED))).fingerprint()

from __future__ import annotations

import enum

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from penstock import Dataset
from penstock.core.errors import ElementError
from penstock.elements.chunks.stacking import folded, join_stacks, stack
from penstock.elements.ragged import Ragged
from penstock.elements.sparse import Sparse

dtypes = st.sampled_from(["?", "i1", "u8", ">i4", "<f2", ">f8", "c8", "M8[s]", "m8[ns]", "i4,f8", "S3"])
shapes = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)


class Color(enum.IntEnum):
    RED = 1
    BLUE = 2


class Tensor:
    def __init__(self, values):
        self.values = np.asarray(values)

    def __array__(self, dtype=None, copy=None):
        return self.values


def same(a, b):
    assert a.dtype == b.dtype
    assert a.shape == b.shape
    assert a.tobytes() == b.tobytes()


@given(st.data(), dtypes, shapes, st.integers(1, 5), st.sampled_from(["fresh", "out", "strided"]))
def test_stack_equals_numpys_stack(data, dtype, shape, count, memory):
    # text scalars become objects: here only as parts of arrays
    dtype = np.dtype(dtype)
    if dtype.kind == "S" and shape == ():
        shape = (2,)
    arrays = [
        np.frombuffer(data.draw(st.binary(min_size=n, max_size=n)), np.uint8) for n in [_bytes(dtype, shape)] * count
    ]
    if dtype.kind == "b":
        arrays = [array & 1 for array in arrays]
    column = [array.view(dtype).reshape(shape) if array.size else np.zeros(shape, dtype) for array in arrays]
    expected = np.empty((count, *shape), dtype)
    for i, array in enumerate(column):
        expected[i] = array
    out = None
    if memory == "out":
        out = np.empty((count, *shape), dtype)
    elif memory == "strided":
        out = np.empty((count, *shape, 2), dtype)[..., 0]
    result = stack(column, out)
    same(result, expected)
    if out is not None:
        assert result is out


def _bytes(dtype, shape):
    return int(dtype.itemsize * np.prod(shape, dtype=int))


@given(st.lists(st.one_of(st.integers(-(2**63), 2**63 - 1), st.integers(-9, 9).map(np.int64)), min_size=1))
def test_integers_are_int64(values):
    same(stack(values), np.array([int(value) for value in values], np.int64))


@given(st.lists(st.floats(), min_size=1))
def test_floats_are_float64(values):
    same(stack(values), np.array(values, np.float64))


@pytest.mark.parametrize(
    ("column", "dtype"),
    [
        ([True, False], "?"),
        ([1j, 2j], "c16"),
        ([np.float16(1), np.float16(2)], "f2"),
        ([Color.RED, Color.BLUE], "i8"),
        ([1.5, np.float64(2)], "f8"),
        ([np.datetime64("2026-01-01"), np.datetime64("2026-01-02")], "M8[D]"),
        ([np.timedelta64(1, "h"), np.timedelta64("NaT", "h")], "m8[h]"),
        ([1, np.int64(2), np.array(3)], "i8"),
    ],
)
def test_scalars_keep_their_kind(column, dtype):
    result = stack(column)
    assert result.dtype == dtype
    assert result.tolist() == [np.asarray(value).item() for value in column]


@pytest.mark.parametrize(
    "column", [[b"a", b""], ["a", "bb"], [{1}, {2}], [b"a", {2}], [np.str_("a"), np.str_("bb")], [range(2)] * 2]
)
def test_objects_are_stacked_unchanged(column):
    out = np.empty(2, object)
    result = stack(column, out)
    assert result is out
    assert result.tolist() == column


def test_sequences_among_objects_stay_whole():
    column = [frozenset(), range(3)]
    assert stack(column).shape == (2,)


def test_objects_that_offer_an_array_are_stacked_as_arrays():
    same(stack([Tensor([1.0, 2.0]), np.array([3.0, 4.0])]), np.array([[1.0, 2.0], [3.0, 4.0]]))
    same(stack([Tensor(np.float32(1)), Tensor(np.float32(2))]), np.array([1, 2], np.float32))


def test_an_array_column_is_returned_as_it_is_or_copied_into_out():
    column = np.arange(6).reshape(2, 3)
    assert stack(column) is column
    out = np.empty((2, 3), np.int64)
    assert stack(column, out) is out
    assert (out == column).all()


def test_text_becomes_objects_from_an_array_as_from_a_list():
    result = stack(np.array(["a", "bbb"]))
    assert result.dtype == object
    assert result.tolist() == ["a", "bbb"]


@pytest.mark.parametrize("out", [np.empty((3, 2)), np.empty((2, 2), np.float32), np.empty((2, 3))])
def test_memory_that_does_not_fit_is_left_alone(out):
    out[...] = 7
    result = stack([np.zeros(2), np.ones(2)], out)
    assert result is not out
    assert (out == 7).all()
    assert result.tolist() == [[0, 0], [1, 1]]


def test_fresh_memory_comes_from_allocate():
    asked = []

    def allocate(shape, dtype):
        asked.append((shape, dtype))
        return np.empty(shape, dtype)

    for column in ([1, 2], [np.zeros((3, 1))] * 2, ["a"]):
        stack(column, allocate=allocate)
    assert asked == [((2,), np.int64), ((2, 3, 1), np.float64)]  # objects are not for pools


def test_an_empty_column_becomes_an_empty_array():
    out = np.empty((0, 5), np.uint8)
    assert stack([], out) is out
    assert stack([]).shape == (0,)


ROWS = np.array([30, 11, 7, 52])


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (
            [np.zeros((2, 3)), np.zeros((2, 3)), np.zeros((2, 4)), np.zeros(1)],
            "rows 30 and 7 .*: shape (2, 3) against (2, 4); crop",
        ),
        ([np.zeros(2), np.zeros(2, "f4")], "rows 30 and 11 .*: dtype float64 against float32; return"),
        ([np.int64(1), 2, np.int32(3)], "rows 30 and 7 .*: dtype int64 against int32"),
        ([1, 2, 3, 1.5], "rows 30 and 52 .*: dtype int64 against float64"),
        ([1, True], "rows 30 and 11 .*: dtype int64 against bool"),
        ([1, "a"], "rows 30 and 11 .*: int64 against str; return the same type"),
        ([b"", np.zeros(2)], r"rows 30 and 11 .*: bytes against float64\[2\]"),
        ([np.zeros(2), np.float64(1)], r"rows 30 and 11 .*: shape (2,) against (); return the same number"),
        (["a", "b", 3], "rows 30 and 7 .*: str against int64"),
        (["a", b"b", 3], "rows 30 and 11 .*: str against bytes; return the same type"),
        ([b"a", "b"], "rows 30 and 11 .*: bytes against str"),
        ([np.zeros(0), np.zeros((0, 0))], "shape (0,) against (0, 0)"),
    ],
)
def test_values_that_differ_name_the_leaf_the_rows_and_both_kinds(column, message):
    pattern = message.replace("(", r"\(").replace(")", r"\)")
    with pytest.raises(ElementError, match=pattern) as caught:
        stack(column, path='["image"]', rows=ROWS)
    assert "batch: elements of rows" in str(caught.value)
    assert ' differ at ["image"]: ' in str(caught.value)


def test_without_rows_the_positions_are_named():
    with pytest.raises(ElementError, match=r"^zip: elements 0 and 1 differ: dtype"):
        stack([1, 1.5], operation="zip")


@pytest.mark.parametrize(
    ("value", "hint"), [(2**63, "np.uint64"), (-(2**63) - 1, "a float"), (2**64, "a float"), (2**5000, "5001 bits")]
)
def test_integers_beyond_int64_are_refused_by_row(value, hint):
    with pytest.raises(ElementError, match=rf'the integer of row 11 at \["id"\] does not fit int64: .*{hint}'):
        stack([1, value, 2], path='["id"]', rows=ROWS)
    assert stack([np.uint64(2**63)]).dtype == np.uint64


def test_ragged_and_sparse_values_become_one():
    parts = [Ragged.from_rows([[1], [2, 3]]), Ragged.from_rows([[4]])]
    assert stack(parts).tolist() == [[[1], [2, 3]], [[4]]]
    assert stack([parts[0], parts[1].with_splits(np.int32)]).row_splits.dtype == np.int64
    assert stack([Sparse.from_dense([0, 5])] * 2) == Sparse.from_dense([[0, 5], [0, 5]])


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ([Ragged([1], [0, 1]), Ragged([1.5], [0, 1])], "dtype int64 against float64"),
        (
            [Ragged([1], [0, 1]), Ragged([[1]], [0, 1])],
            r"ragged int64\[\?, ~\] against ragged int64\[\?, ~, 1\]; only rows",
        ),
        ([Ragged([1], [0, 1]), Ragged([1], [0, 1]).fold(1)], r"ragged int64\[\?, ~, ~\]"),
        ([Ragged([1], [0, 1]), np.zeros(2)], r"ragged int64\[1, ~\] against float64\[2\]"),
        ([Sparse.from_dense([1]), Sparse.from_dense([1, 2])], "make them of one dense_shape"),
    ],
)
def test_ragged_and_sparse_values_that_differ_name_the_rows(column, message):
    with pytest.raises(ElementError, match=rf'elements of rows 30 and 11 differ at \["x"\]: .*{message}'):
        stack(column, path='["x"]', rows=ROWS)


@pytest.mark.parametrize("memory", [None, np.zeros((2, 3), np.int64)])
def test_rows_that_are_arrays_must_agree_in_length(memory):
    rows = Ragged.from_rows([[1, 2, 3], [4, 5, 6]])
    made = stack(rows, memory)
    assert made.tolist() == [[1, 2, 3], [4, 5, 6]]
    assert memory is None or made is memory
    with pytest.raises(ElementError, match=r"rows 30 and 7 differ: shape \(2,\) against \(1,\); .*ragged_batch"):
        stack(Ragged.from_rows([[1, 2], [3, 4], [5]]), rows=ROWS)
    assert stack(Sparse.from_dense([0, 5])).tolist() == [0, 5]


def test_every_kind_of_stack_can_be_folded_and_joined():
    dense = np.array([[0, 1], [2, 0], [0, 0], [3, 4]])
    for kind in (np.asarray, Sparse.from_dense, Ragged.from_dense):
        rows = kind(dense)
        whole = folded(rows, 2)
        assert len(whole) == 2
        assert list(whole[1][0]) == list(rows[2])
        assert list(join_stacks([rows[:1], rows[1:]])[3]) == list(rows[3])
    assert folded(np.zeros((4, 0)), 2).shape == (2, 2, 0)


def test_a_masked_array_is_refused_before_its_mask_is_lost():
    masked = np.ma.array([1.0, 2.0], mask=[False, True])
    for ds in (Dataset.from_source([masked, masked]).batch(2), Dataset.range(2).map(lambda _: {"x": masked}).batch(2)):
        with pytest.raises(ElementError, match=r"masked array of row 0.* would lose its mask; fill it by array.filled"):
            list(ds)
    with pytest.raises(ElementError, match=r'from_tensor_slices: a masked array at \["x"\] would lose its mask'):
        Dataset.from_tensor_slices({"x": masked})


def test_arrays_of_texts_of_different_widths_name_the_remedy():
    ds = Dataset.from_source([np.array(["a"]), np.array(["bcd"])]).batch(2)
    with pytest.raises(ElementError, match=r"dtype <U1 against <U3; use \.astype\(object\)"):
        list(ds)

"""Values of different shapes: padded, ragged and sparse batches have the values that went in, and nothing else."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.errors import ElementError
from penstock.elements.chunks.stacking import Origin
from penstock.elements.leaves.uneven import fill_value, pad_column, ragged, sparse
from penstock.elements.ragged import Ragged
from penstock.elements.sparse import Sparse
from penstock.testing.laws import difference, same

ORIGIN = Origin('["x"]', [30, 11, 7], "example")


@st.composite
def columns(draw, least=1, most=3):
    """Arrays of different shapes of some dimensions."""
    dimensions = draw(st.integers(least, most))
    shapes = draw(
        st.lists(st.lists(st.integers(0, 3), min_size=dimensions, max_size=dimensions), min_size=1, max_size=4)
    )
    return [np.arange(1, 1 + int(np.prod(shape)), dtype=np.int16).reshape(shape) for shape in shapes]


def as_column(arrays, kind):
    """Return the elements as a list or as a column of ragged rows."""
    return Ragged.from_rows(arrays) if kind == "rows" else arrays


def check_own(value, *others):
    """A batch is the consumer's own."""
    parts = [value] if isinstance(value, np.ndarray) else value.arrays()
    assert parts[0].flags.writeable
    assert not any(np.shares_memory(part, other) for part in parts for other in others)


@given(columns(), st.integers(0, 2), st.booleans())
def test_padding_surrounds_values_in_the_first_corner(arrays, room, fixed):
    longest = np.max([array.shape for array in arrays], axis=0) + room * fixed
    made = pad_column(arrays, tuple(longest.tolist()) if fixed else None, -1, Origin(), np.empty)
    assert made.shape == (len(arrays), *longest)
    assert made.dtype == np.int16
    for row, array in zip(made, arrays, strict=True):
        corner = tuple(map(slice, array.shape))
        assert row[corner].tolist() == array.tolist()
        row[corner] = -1
        assert (row == -1).all()
    check_own(made, *arrays)


@given(columns(1, 1), st.none() | st.integers(3, 5))
def test_padding_of_ragged_rows_equals_that_of_arrays(arrays, size):
    shape = None if size is None else (size,)
    rows = Ragged.from_rows(arrays)
    made = pad_column(rows, shape, -1, Origin(), np.empty)
    assert difference(made, pad_column(arrays, shape, -1, Origin(), np.empty)) is None
    check_own(made, rows.flat_values)


@given(columns(), st.integers(1, 3))
def test_ragged_rows_equal_the_values(arrays, rank):
    rank = min(rank, arrays[0].ndim)
    inner = arrays[0].shape[rank:]
    alike = [np.resize(array, (*array.shape[:rank], *inner)) for array in arrays]
    made = ragged(alike, rank, np.int32, Origin(), np.empty)
    assert made.ragged_rank == rank
    assert made.row_splits.dtype == np.int32
    assert [row.tolist() for row in made] == [array.tolist() for array in alike]
    if rank == 1:
        assert same(made, ragged(alike, None, np.int32, Origin(), np.empty))
        assert same(made, ragged(Ragged.from_rows(alike), 1, np.int32, Origin(), np.empty))
    check_own(made, *alike)


@given(columns(), st.booleans())
def test_sparse_rows_equal_the_values(arrays, fixed):
    longest = np.max([array.shape for array in arrays], axis=0) + 1
    shape = tuple(longest.tolist()) if fixed else (None,) * arrays[0].ndim
    made = sparse(arrays, shape, Origin(), np.empty)
    assert same(made, Sparse(made.indices, made.values, made.dense_shape))  # its indices are in order
    np.testing.assert_array_equal(
        made.to_dense(fill=-1), pad_column(arrays, shape if fixed else None, -1, Origin(), np.empty)
    )
    check_own(made, *arrays)


@pytest.mark.parametrize("column", [[1, 2], np.arange(2), ["a", "b"], Sparse.from_dense([1, 2]), [b"", object()]])
def test_numbers_and_text_are_stacked(column):
    for shape in (None, ()):
        made = pad_column(column, shape, None, Origin(), np.empty)
        assert made.shape == (2,)
        assert list(made) == list(column)
    assert same(ragged(column, None, np.int64, Origin(), np.empty), made)
    assert same(ragged(column, 0, np.int64, Origin(), np.empty), made)
    assert same(sparse(column, (), Origin(), np.empty), made)
    for collect in (pad_column, sparse):
        with pytest.raises(ElementError, match=r'values at \["x"\] have 0 dimensions, but the shape \(3,\) has 1'):
            collect(column, (3,), *([0] if collect is pad_column else []), ORIGIN, np.empty)


def test_ragged_values_get_one_more_dimension():
    parts = [Ragged.from_rows([[1], [2, 3]]), Ragged.from_rows([[4]])]
    for column in (parts, Ragged.stack(parts), Ragged.stack(parts).frozen()):
        made = ragged(column, 0, np.int32, Origin(), np.empty)
        assert made.tolist() == [[[1], [2, 3]], [[4]]]
        assert made.row_splits.dtype == np.int32
        assert made.writeable
        for collect in (pad_column, sparse):
            with pytest.raises(TypeError, match=r'example: the values at \["x"\] are Ragged; use batch'):
                collect(column, *{pad_column: (None, 0), sparse: ((3, 3),)}[collect], ORIGIN, np.empty)


def test_sparse_values_keep_their_stored_values():
    parts = [Sparse.from_dense([1, 0]), Sparse.from_dense([0, 0, 2])]
    assert sparse(parts, (4,), Origin(), np.empty) == Sparse.from_dense([[1, 0, 0, 0], [0, 0, 2, 0]])
    assert sparse(parts, (None,), Origin(), np.empty).dense_shape == (2, 3)
    whole = Sparse.from_dense([[1, 0], [0, 2]])
    assert sparse(whole, (2,), Origin(), np.empty) == whole
    assert ragged(whole, 0, np.int64, Origin(), np.empty) == whole
    with pytest.raises(ElementError, match=r'example: row 11 has shape \(3,\) at \["x"\], larger than \(2,\)'):
        sparse(parts, (2,), ORIGIN, np.empty)
    with pytest.raises(ElementError, match=r"rows 30 and 11 differ at .*: sparse int64\[\?\] against float64\[\?\]"):
        sparse([parts[0], np.zeros(2)], (2,), ORIGIN, np.empty)
    with pytest.raises(TypeError, match="are Sparse; use batch"):
        pad_column(parts, None, None, ORIGIN, np.empty)


@pytest.mark.parametrize("kind", ["list", "rows"])
def test_a_value_larger_than_its_shape_is_refused_with_its_row(kind):
    column = as_column([np.zeros(1), np.zeros(4), np.zeros(3)], kind)
    for collect in (pad_column, sparse):
        with pytest.raises(
            ElementError, match=r'^example: row 11 has shape \(4,\) at \["x"\], larger than \(2,\); crop'
        ):
            collect(column, (2,), *([0.0] if collect is pad_column else []), ORIGIN, np.empty)
    with pytest.raises(ElementError, match=r"values at .* have 1 dimensions, but the shape \(2, 3\) has 2"):
        pad_column(column, (2, 3), None, ORIGIN, np.empty)


def test_inner_dimensions_of_ragged_rows_are_padded_too():
    column = [np.ones((1, 2)), np.ones((0, 2)), np.ones((2, 2))]
    made = pad_column(Ragged.from_rows(column), (None, 3), -1.0, Origin(), np.empty)
    assert same(made, pad_column(column, (None, 3), -1.0, Origin(), np.empty))
    assert made.shape == (3, 2, 3)


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ([np.zeros(2), np.zeros((2, 2))], r"shape (?,) against (?, ?)"),
        ([np.zeros(2), np.zeros(2, "f4")], "dtype float64 against float32; return the same dtype for every row"),
        ([np.array([]), np.ones(2, "i8")], "int64; return the same dtype for every row (np.array([]) is float64)"),
        ([np.zeros(2), 1.0], r"shape (?,) against ()"),
        ([np.zeros(2), "a"], r"float64[?] against str"),
    ],
)
@pytest.mark.parametrize("collect", [pad_column, ragged, sparse])
def test_values_that_differ_in_dtype_or_rank_are_refused_with_their_rows(column, message, collect):
    with pytest.raises(ElementError) as caught:
        collect(column, *{pad_column: (None, 0), ragged: (1, "i8"), sparse: ((3,),)}[collect], ORIGIN, np.empty)
    assert str(caught.value).startswith('example: elements of rows 30 and 11 differ at ["x"]: ')
    assert message in str(caught.value)


def test_only_ragged_dimensions_may_differ():
    with pytest.raises(ElementError, match=r"shape \(\?, 2\) against \(\?, 3\); only the first 1 dimension may"):
        ragged([np.zeros((1, 2)), np.zeros((1, 3))], 1, np.int64, ORIGIN, np.empty)


def test_text_is_padded_with_empty_text():
    words = [np.array(["a"], object), np.array([], object), np.array(["b", "c"], object)]
    assert pad_column(words, None, None, Origin(), np.empty).tolist() == [["a", ""], ["", ""], ["b", "c"]]
    assert pad_column(words, None, "-", Origin(), np.empty).tolist() == [["a", "-"], ["-", "-"], ["b", "c"]]
    raw = [np.array([], object), np.array([b"b"], object)]
    assert pad_column(raw, None, None, Origin(), np.empty).tolist() == [[b""], [b"b"]]
    assert ragged(words, None, np.int64, Origin(), np.empty).tolist() == [["a"], [], ["b", "c"]]


def test_memory_comes_from_the_given_allocator():
    asked = []

    def allocate(shape, dtype):
        asked.append(shape)
        return np.empty(shape, dtype)

    arrays = [np.zeros(1), np.zeros(2)]
    pad_column(arrays, (3,), None, Origin(), allocate)
    pad_column(Ragged.from_rows(arrays), None, None, Origin(), allocate)
    pad_column([np.zeros(2)] * 2, None, None, Origin(), allocate)
    ragged(arrays, 1, np.int64, Origin(), allocate)
    sparse(arrays, (3,), Origin(), allocate)
    assert asked == [(2, 3), (2, 2), (2, 2), (3,), (3,)]


@pytest.mark.parametrize(
    ("dtype", "fill", "wanted"),
    [
        ("i4", 3, np.int32(3)),
        ("f4", 3, np.float32(3)),
        ("f4", -0.5, np.float32(-0.5)),
        ("?", True, np.True_),
        ("c8", 1.5, np.complex64(1.5)),
        ("u1", np.uint8(7), np.uint8(7)),
        ("i8", np.array(7), np.int64(7)),
        ("i2", None, np.int16(0)),
        ("U3", "a", np.str_("a")),
    ],
)
def test_a_fill_of_the_same_kind_is_accepted(dtype, fill, wanted):
    assert same(fill_value(fill, np.zeros(2, dtype), Origin()), wanted)


@pytest.mark.parametrize(
    ("dtype", "fill"),
    [("i4", 1.5), ("i4", True), ("i4", np.int64(1)), ("?", 0), ("f4", 1j), ("f4", "a"), ("f8", np.zeros(1))],
)
def test_a_fill_of_another_type_is_refused(dtype, fill):
    with pytest.raises(TypeError, match=r'example\(padding_values=\): .* for values of .* at \["x"\]; pass a value of'):
        fill_value(fill, np.zeros(2, dtype), ORIGIN)


@pytest.mark.parametrize(("dtype", "fill"), [("uint8", 300), ("float16", 1e6), ("float32", -1e39)])
def test_a_fill_that_is_too_large_is_refused(dtype, fill):
    with pytest.raises(ValueError, match=rf'{re.escape(str(fill))} does not fit {dtype} at \["x"\]'):
        fill_value(fill, np.zeros(2, dtype), ORIGIN)


def test_an_infinite_fill_of_floats_is_accepted():
    assert fill_value(-np.inf, np.zeros(2, np.float16), ORIGIN) == -np.inf

"""Lists of values are copied into one array as the twin copies them, or not at all."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernels.arrays import copy_array, copy_arrays, copy_objects, items_at, largest_shapes, one_type
from penstock.kernels.reference import arrays as twin

DTYPES = [
    *("?", "i1", "<i4", ">i4", "u8", "f2", "<f4", ">f8", "c8", "g", "S3", "U2", ">U2", "M8[s]", ">m8[ms]"),
    *("O", [("x", "i4"), ("y", "O")], [("x", "i1"), ("y", "f8")], "V3"),
]


class Subclass(np.ndarray):
    """An array that is not exactly `np.ndarray`."""


@st.composite
def one_array(draw, dtypes=tuple(DTYPES), dims=(0, 1, 2, 3), most=3):
    """Return an array of some dtype, in some order of memory, perhaps of a subclass or masked."""
    dtype = np.dtype(draw(st.sampled_from(dtypes)))
    shape = tuple(draw(st.integers(0, most)) for _ in range(draw(st.sampled_from(dims))))
    made = np.array(draw(st.integers(0, 99)) + np.arange(int(np.prod(shape)))).reshape(shape)
    if dtype.kind in "OV":
        filled = np.zeros(shape, dtype)
    else:
        filled = np.array(made % 2 == 0 if dtype.kind == "b" else made, dtype)
    form = draw(st.sampled_from(["plain"] * 6 + ["fortran", "reversed", "sliced", "read-only", "subclass", "masked"]))
    if form == "fortran":
        return np.asfortranarray(filled) if filled.ndim else filled
    if form == "reversed" and filled.ndim:
        return filled[::-1]
    if form == "sliced" and filled.ndim:
        return np.repeat(filled, 2, axis=0)[::2]
    if form == "read-only":
        filled.flags.writeable = False
    if form == "subclass":
        return filled.view(Subclass)
    return np.ma.masked_array(filled) if form == "masked" else filled


OTHERS = st.sampled_from([1, 2.5, "a", None, np.float32(1), [1, 2], np.int64(3)])
LISTS = st.one_of(
    st.lists(one_array(dtypes=["<f4"], dims=[1], most=2), max_size=5),
    st.lists(one_array(dtypes=["<i4", ">i4"], dims=[0, 2], most=2), max_size=4),
    st.lists(one_array(), max_size=3),
    one_array().flatmap(lambda one: st.lists(st.one_of(st.just(one), st.just(one), OTHERS), max_size=4)),
)


@given(LISTS, st.booleans(), st.integers(0, 2), st.data())
def test_arrays_are_copied_as_by_the_twin(values, pad, extra, data):
    first = values[0] if values and isinstance(values[0], np.ndarray) else np.zeros(2)
    dtype = data.draw(st.sampled_from([first.dtype, first.dtype.newbyteorder(), np.dtype("f8")]))
    shape = (len(values), *(size + extra for size in first.shape))
    made, expected = np.zeros(shape, dtype), np.zeros(shape, dtype)
    if data.draw(st.sampled_from([False, False, True])):
        made, expected = np.asfortranarray(made), np.asfortranarray(expected)
    assert copy_arrays(values, made, pad=pad) == twin.copy_arrays(values, expected, pad=pad)
    assert made.tolist() == expected.tolist()
    assert made.tobytes() == expected.tobytes() or dtype.hasobject


@given(one_array() | OTHERS, st.booleans(), st.data())
def test_an_array_is_copied_as_by_the_twin(value, shares, data):
    first = value if isinstance(value, np.ndarray) else np.zeros(2)
    dtype = data.draw(st.sampled_from([first.dtype, first.dtype.newbyteorder(), np.dtype("f8")]))
    shape = data.draw(st.sampled_from([first.shape, (*first.shape, 1), first.shape[1:]]))
    made, expected = np.zeros(shape, dtype), np.zeros(shape, dtype)
    assert copy_array(value, made, 1 << 30 if shares else 0) == twin.copy_array(value, expected, 0)
    assert made.tolist() == expected.tolist()


@pytest.mark.parametrize("size", [(4 << 10) - 1, 4 << 10, (64 << 10) + 65])  # the last without the GIL
@pytest.mark.parametrize("begin", [0, 3, 100])
def test_a_row_of_a_large_batch_is_copied(size, begin):
    row = np.random.default_rng(0).integers(256, size=size, dtype=np.uint8)
    out = np.zeros(begin + size + 1, np.uint8)
    assert copy_array(row, out[begin:-1], 8 << 20)
    assert (out[begin:-1] == row).all()
    assert not out[:begin].any()
    assert not out[-1]
    out[:size] = row
    assert copy_array(out[:size], out[1 : size + 1], 8 << 20)  # which overlap
    assert (out[1 : size + 1] == row).all()


@given(LISTS, st.integers(1, 6))
def test_the_largest_shapes_are_those_of_the_twin(values, group):
    assert largest_shapes(values, group) == twin.largest_shapes(values, group)


def test_groups_have_arrays():
    with pytest.raises(ValueError, match="must have arrays"):
        largest_shapes([np.zeros(2)], 0)


@given(LISTS | st.lists(st.sampled_from([1, True, 2.5, "a", b"a", {}, (1,)])))
def test_the_type_is_that_of_the_twin(values):
    assert one_type(values) is twin.one_type(values)


@given(st.lists(st.sampled_from(["a", "", "ü", np.str_("b"), b"c", 1]) | st.just("d")), st.sampled_from([str, bytes]))
def test_objects_are_put_as_by_the_twin(values, cls):
    made, expected = np.full(len(values), 7, object), np.full(len(values), 7, object)
    whole = twin.copy_objects(values, cls, expected)
    assert copy_objects(values, cls, made) == whole
    assert made.tolist() == (expected.tolist() if whole else [7] * len(values))


@pytest.mark.parametrize("out", [np.empty(3, object), np.empty(2), np.empty((2, 1), object), np.empty(4, object)[::2]])
def test_objects_need_memory_of_one_object_each(out):
    with pytest.raises(ValueError, match="one for each value"):
        copy_objects(["a", "b"], str, out)


def test_read_only_memory_is_left_alone():
    out = np.zeros((2, 2))
    out.flags.writeable = False
    assert not copy_arrays([np.ones(2)] * 2, out)
    assert out.sum() == 0
    with pytest.raises(TypeError, match="must be an array"):
        copy_arrays([np.ones(2)], [[0, 0]])


@given(st.lists(st.text(max_size=2), max_size=40), st.lists(st.integers(-1, 42), max_size=40))
def test_items_are_those_of_the_twin(values, positions):
    at = np.array(positions, np.int64)
    wanted = twin.items_at(values, at)
    assert items_at(values, at) == wanted
    assert wanted is None or all(map(lambda a, b: a is b, items_at(values, at), wanted))


@pytest.mark.parametrize("positions", [np.zeros((1, 1), np.int64), np.zeros(2, np.int32)])
def test_positions_must_be_numbers_of_64_bits(positions):
    with pytest.raises(TypeError, match="64-bit"):
        items_at(["a"], positions)


def test_objects_are_counted():
    value, old = "a value of its own " * 2, object()
    before, its = sys.getrefcount(value), sys.getrefcount(old)
    out = np.empty(3, object)
    out[:] = old
    assert copy_objects([value] * 3, str, out)
    assert (sys.getrefcount(value), sys.getrefcount(old)) == (before + 3, its)
    assert not copy_objects([value, 1, value], str, out)
    assert sys.getrefcount(value) == before + 3
    del out
    assert sys.getrefcount(value) == before


def test_the_end_of_an_old_object_may_look_at_the_memory():
    out = np.empty(2, object)

    class Old:
        def __del__(self):
            seen.append(out.tolist()[0])

    seen: list[object] = []
    out[0] = Old()
    assert copy_objects(["a", "b"], str, out)
    assert (seen, out.tolist()) == (["a"], ["a", "b"])


def test_rows_of_the_memory_itself_stay_as_they_are():
    out = np.arange(6.0).reshape(3, 2)
    assert copy_arrays([out[0], out[1], out[2]], out)
    assert out.tolist() == [[0, 1], [2, 3], [4, 5]]
    assert copy_arrays([out[2], out[2], out[2]], out)
    assert out.tolist() == [[4, 5]] * 3


@pytest.mark.parametrize("size", [0, 1, 63, 64, 65, 1 << 14])  # the last copies more than is copied under the GIL
def test_any_amount_is_copied(size):
    values = [np.arange(size) + i for i in range(3)]
    out = np.zeros((3, size), np.int64)
    assert copy_arrays(values, out)
    assert (out == np.stack(values)).all()
    padded = np.full((3, size + 1), -1)
    assert copy_arrays(values, padded, pad=True)
    assert (padded[:, :size] == out).all()
    assert (padded[:, size] == -1).all()

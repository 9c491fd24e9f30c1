"""Gather: the requested rows, of any width and dtype."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.kernels import gather, gather_several
from penstock.kernels.reference.gather import gather as twin
from penstock.kernels.reference.gather import gather_several as twin_of_several

DTYPES = ["u1", "?", "i2", "f2", "f4", "i8", "c8", "c16", ">i4", "U3", "S5", "M8[s]", "V7", [("a", "i4"), ("b", "f8")]]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("row_shape", [(), (1,), (3,), (28, 28), (0,), (2, 0, 3)], ids=str)
def test_gather_equals_indexing(dtype: object, row_shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    dtype = np.dtype(dtype)  # type: ignore[arg-type]
    shape = (50, *row_shape)
    size = int(np.prod(shape)) * dtype.itemsize
    source = np.ndarray(shape, dtype, rng.integers(65, 90, max(size, 1), np.uint8).tobytes())
    if dtype.kind == "U":
        source = np.full(shape, "abc", dtype)
    rows = rng.integers(0, 50, 40)
    expected = source[rows]
    assert gather(source, rows).tobytes() == expected.tobytes()
    assert twin(source, rows).tobytes() == expected.tobytes()
    out = np.empty_like(expected)
    assert gather(source, rows, out) is out
    assert out.tobytes() == expected.tobytes()


def test_objects_and_arrays_that_are_not_contiguous_are_gathered_too() -> None:
    objects = np.array([[1], "b", None], object)
    assert gather(objects, np.array([2, 0])).tolist() == [None, [1]]
    source = np.arange(60).reshape(10, 6)
    rows = np.array([9, 0, 3, 3])
    assert (gather(source[:, ::2], rows) == source[rows, ::2]).all()
    assert (gather(source, rows[::2]) == source[rows[::2]]).all()
    out = np.zeros((4, 12), np.int64)[:, ::2]
    gather(source, rows, out)
    assert (out == source[rows]).all()


def test_a_large_copy_equals_indexing() -> None:
    source = np.random.default_rng(1).integers(0, 255, (3000, 1500), np.uint8)
    rows = np.random.default_rng(2).integers(0, 3000, 500)
    assert (gather(source, rows) == source[rows]).all()


def test_no_rows_give_an_empty_array() -> None:
    assert gather(np.zeros((5, 3)), np.zeros(0, np.int64)).shape == (0, 3)
    assert gather(np.zeros((0, 3)), np.zeros(0, np.int64)).shape == (0, 3)


@pytest.mark.parametrize("bad", [-1, 5, 1 << 62, -(1 << 63)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_a_row_outside_is_named(bad: int, order: str) -> None:
    source = np.zeros((5, 3), order=order)  # type: ignore[call-overload]
    with pytest.raises(IndexError, match=rf"row {bad} is outside \[0, 5\)"):
        gather(source, np.array([0, bad, 1]))


def test_a_source_without_rows_has_no_row_zero() -> None:
    with pytest.raises(IndexError, match=r"row 0 is outside \[0, 0\)"):
        gather(np.zeros((0, 3)), np.array([0]))


def test_out_that_does_not_fit_is_refused() -> None:
    source, rows = np.zeros((5, 3)), np.array([0, 1])
    for out in (np.zeros((2, 2)), np.zeros((3, 3)), np.zeros((2, 3), "f4"), np.zeros((2, 3), ">f8")):
        with pytest.raises(ValueError, match="out must be"):
            gather(source, rows, out)
    with pytest.raises(ValueError, match="overlap"):
        gather(source, rows, source[1:3])
    with pytest.raises(ValueError, match="overlap"):
        gather(source[:, ::-1], rows, source[1:3, ::-1])
    read_only = np.zeros((2, 3))
    read_only.flags.writeable = False
    with pytest.raises((ValueError, BufferError), match="read-only"):
        gather(source, rows, read_only)


def test_other_rows_and_scalars_are_refused() -> None:
    with pytest.raises(TypeError, match="int64"):
        gather(np.zeros(3), np.array([0.0]))
    with pytest.raises(TypeError, match="one-dimensional"):
        gather(np.zeros(3), np.array([[0], [1]]))
    with pytest.raises(ValueError, match="scalars"):
        gather(np.array(3), np.array([0]))


def test_the_source_may_be_read_only() -> None:
    source = np.arange(5)
    source.flags.writeable = False
    assert gather(source, np.array([3])).tolist() == [3]


@pytest.mark.parametrize("dtype", [*DTYPES, "O"], ids=str)
@pytest.mark.parametrize("row_shape", [(), (3,), (28, 28), (700, 3), (0,)], ids=str)
def test_rows_of_several_arrays_go_to_their_places(dtype: object, row_shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    sources = [rng.integers(0, 99, (length, *row_shape)).astype("i4").astype(dtype) for length in (5, 1, 0, 40)]
    owners = rng.choice([0, 1, 3], 60)
    rows = rng.integers(0, [len(sources[owner]) for owner in owners])
    places = rng.permutation(70)[:60]
    found, expected = (np.zeros((70, *row_shape), dtype) for _ in range(2))
    assert gather_several(sources, owners, rows, places, found) is found
    twin_of_several(sources, owners, rows, places, expected)
    assert found.tolist() == expected.tolist()
    strided = np.zeros((70, *row_shape, 2), dtype)[..., 0]
    assert gather_several(sources, owners, rows, places, strided).tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("owners", "rows", "places", "named"),
    [
        ([2], [0], [0], "there is no source 2"),
        ([-1], [0], [0], "there is no source -1"),
        ([1], [3], [0], r"row 3 is outside \[0, 3\)"),
        ([0], [-1], [0], r"row -1 is outside \[0, 5\)"),
        ([0], [0], [4], r"place 4 is outside \[0, 4\)"),
        ([0], [0], [-(1 << 63)], "is outside"),
    ],
)
def test_numbers_outside_their_range_are_named(owners, rows, places, named) -> None:
    arrays = [np.zeros((5, 2)), np.zeros((3, 2))]
    with pytest.raises(IndexError, match=named):
        gather_several(arrays, np.array(owners), np.array(rows), np.array(places), np.zeros((4, 2)))


def test_arrays_that_do_not_fit_together_are_refused() -> None:
    one, source = np.array([0]), np.zeros((5, 2))
    for out in (np.zeros((4, 3)), np.zeros((4, 2), "f4"), np.zeros(4)):
        with pytest.raises(ValueError, match="each source must have rows of"):
            gather_several([source], one, one, one, out)
    with pytest.raises(ValueError, match="overlap"):
        gather_several([source], one, one, one, source[1:3])
    with pytest.raises(ValueError, match="the same length"):
        gather_several([source], one, np.array([0, 1]), one, np.zeros((4, 2)))

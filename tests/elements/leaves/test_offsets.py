"""Splits, and the positions that rows of different lengths take."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.errors import ElementError
from penstock.elements.leaves.offsets import (
    alike,
    begins,
    checked_splits,
    offset_positions,
    position,
    split_dtype,
    spread,
)

ROWS = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 5)), max_size=8)


@given(ROWS)
def test_positions_are_those_of_each_row_in_turn(rows):
    starts, lengths = np.array(rows, np.int64).reshape(-1, 2).T
    expected = [start + i for start, length in rows for i in range(length)]
    assert spread(starts, lengths).tolist() == expected
    assert begins(lengths).tolist() == [0, *np.cumsum(lengths).tolist()]


def test_splits_are_int32_or_int64():
    assert checked_splits(np.int32([0, 2]), 2).dtype == np.int32
    for dtype in (np.int64, np.uint8, np.int16):
        assert checked_splits(np.array([0, 2], dtype), 2).dtype == np.int64


@pytest.mark.parametrize(
    ("splits", "match"),
    [
        ([], "not float64 of shape"),
        (np.zeros(0, np.int64), "the first must be 0"),
        ([1, 2], "the first must be 0"),
        ([0, 3, 2], "3, then 2 for row 1"),
        ([0, 3], "the last is 3, but there are 2 values"),
        ([0.0, 2.0], "whole numbers"),
        ([[0, 2]], "one dimension"),
    ],
)
def test_invalid_splits_are_refused(splits, match):
    with pytest.raises(ElementError, match=match):
        checked_splits(splits, 2)


def test_splits_of_several_dimensions_have_one_dtype():
    narrow, wide = np.zeros(1, np.int32), np.zeros(1, np.int64)
    assert alike((narrow, narrow))[0] is narrow
    assert [level.dtype for level in alike((narrow, wide))] == [np.int64, np.int64]


def test_only_int32_and_int64_are_dtypes_of_splits():
    assert split_dtype("int32") == np.int32
    with pytest.raises(ValueError, match="row_splits_dtype: expected int32 or int64, not float64"):
        split_dtype(float)


def test_positions_may_be_negative_or_a_mask():
    assert offset_positions([0, -1], 3).tolist() == [0, 2]
    assert offset_positions([True, False, True], 3).tolist() == [0, 2]
    assert offset_positions([], 3).tolist() == []
    for wrong in ([3], [-4], [True], [0.5], [[0]]):
        with pytest.raises(IndexError, match=r"row -?\d of 3; there are rows 0 to 2, and -3 to -1|expected"):
            offset_positions(wrong, 3)


def test_a_position_out_of_range_is_refused_with_the_valid_range():
    assert [position(row, 3) for row in (0, 2, -1, -3, np.int8(1))] == [0, 2, 2, 0, 1]
    for row, count, told in ((3, 3, "there are rows 0 to 2, and -3 to -1"), (-4, 3, "row -4 of 3"), (0, 0, "no rows")):
        with pytest.raises(IndexError, match=told):
            position(row, count)
    for wrong, told in ((1.5, "not float"), ("a", "not str"), (None, "not NoneType"), ((0, 1), r"rows\[0\]\[1\]")):
        with pytest.raises(TypeError, match=told):
            position(wrong, 3)

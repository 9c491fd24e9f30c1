"""Row arithmetic in native code equals its NumPy twin, and refuses what it cannot count."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernels import group_rows, group_sizes, stride_rows
from penstock.kernels.reference import rows as twin

ROWS = st.lists(st.integers(0, 500), max_size=40).map(lambda rows: np.array(rows, np.int64))
SIZES = st.integers(1, 60)


@given(rows=ROWS, length=SIZES, stride=st.integers(0, 1000), start=st.integers(0, 100), step=st.integers(0, 9))
def test_stride_rows(rows: np.ndarray, length: int, stride: int, start: int, step: int) -> None:
    expected = twin.stride_rows(rows, length, stride, start, step)
    assert stride_rows(rows, length, stride, start, step).tolist() == expected.tolist()


@given(rows=ROWS, size=SIZES, batches=SIZES, length=st.integers(0, 500), stride=st.integers(0, 500))
def test_group_rows(rows: np.ndarray, size: int, batches: int, length: int, stride: int) -> None:
    elements, counts = group_rows(rows, size, batches, length, stride)
    expected_elements, expected_counts = twin.group_rows(rows, size, batches, length, stride)
    assert elements.tolist() == expected_elements.tolist()
    assert counts.tolist() == expected_counts.tolist()
    assert group_sizes(rows, size, batches, length, stride).tolist() == counts.tolist()


def test_negative_rows_and_empty_datasets_are_refused() -> None:
    for call in (lambda rows, n: stride_rows(rows, n, 5, 0, 1), lambda rows, n: group_rows(rows, 2, n, 5, 5)):
        with pytest.raises(ValueError, match="row -2 is negative"):
            call(np.array([1, -2]), 5)
        with pytest.raises(ValueError, match="row 1 of a dataset of length 0"):
            call(np.array([1, 2]), 0)


def test_rows_that_cannot_be_counted_are_refused() -> None:
    with pytest.raises(OverflowError, match="2\\*\\*63"):
        stride_rows(np.array([1 << 20]), 1, 1 << 48, 0, 1)
    with pytest.raises(OverflowError, match="2\\*\\*63"):
        stride_rows(np.array([0]), 1, 1, -1, 1)
    with pytest.raises(OverflowError, match="2\\*\\*63"):
        stride_rows(np.array([1 << 40]), 1 << 41, 1 << 41, 0, 1 << 30)
    with pytest.raises(OverflowError, match="2\\*\\*63"):
        group_rows(np.array([1 << 20]), 4, 1, 1 << 48, 1 << 48)
    with pytest.raises(OverflowError, match="2\\*\\*63"):
        group_rows(np.array([1 << 40]), 1 << 40, 1 << 41, 1 << 62, 1 << 62)


def test_more_elements_than_memory_is_a_memory_error() -> None:
    with pytest.raises((MemoryError, ValueError)):
        group_rows(np.array([0]), 1 << 62, 1, 1 << 62, 1 << 62)


def test_sizes_below_the_minimum_are_refused() -> None:
    with pytest.raises(ValueError, match="size must be at least 1"):
        group_rows(np.array([0]), 0, 1, 1, 1)

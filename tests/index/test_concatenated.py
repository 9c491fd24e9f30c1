"""Concatenation: which input, and which row of it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.index.concatenated import concatenated


@given(first=st.integers(0, 20), second=st.integers(0, 20), rows=st.lists(st.integers(0, 200), max_size=30))
def test_each_epoch_is_the_first_input_and_then_the_second(first: int, second: int, rows: list[int]) -> None:
    if first + second == 0:
        rows = []
    strides = (first + 3, second + 1)
    mask, of_first, of_second = concatenated(
        np.array(rows, np.int64),
        first=first,
        stride=first + second,
        first_stride=strides[0],
        second_stride=strides[1],
    )
    split = [divmod(row, first + second) for row in rows]
    assert mask.tolist() == [position < first for _, position in split]
    assert of_first.tolist() == [epoch * strides[0] + p for epoch, p in split if p < first]
    assert of_second.tolist() == [epoch * strides[1] + p - first for epoch, p in split if p >= first]


def test_the_second_may_never_end() -> None:
    mask, of_first, of_second = concatenated(
        np.array([1, 4, 1 << 40]), first=3, stride=1 << 48, first_stride=3, second_stride=1 << 48
    )
    assert (mask.tolist(), of_first.tolist(), of_second.tolist()) == ([True, False, False], [1], [1, (1 << 40) - 3])


def test_negative_rows_empty_datasets_and_uncountable_rows_are_refused() -> None:
    with pytest.raises(ValueError, match="row -1 is negative"):
        concatenated(np.array([3, -1]), first=1, stride=2, first_stride=1, second_stride=1)
    with pytest.raises(ValueError, match="row 3 of a dataset of length 0"):
        concatenated(np.array([3]), first=0, stride=0, first_stride=0, second_stride=0)
    with pytest.raises(OverflowError, match="beyond row"):
        concatenated(np.array([1 << 40]), first=1, stride=2, first_stride=1, second_stride=1 << 48)

"""Strides: take, skip, shard and slices, epoch by epoch."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.index.strided import strided

ROWS = st.lists(st.integers(0, 400), max_size=30).map(lambda rows: np.array(rows, np.int64))


@given(
    rows=ROWS, length=st.integers(1, 50), stride=st.integers(0, 500), start=st.integers(0, 50), step=st.integers(1, 7)
)
def test_it_is_a_divmod_and_an_affine_map(rows: np.ndarray, length: int, stride: int, start: int, step: int) -> None:
    expected = [row // length * stride + start + row % length * step for row in rows.tolist()]
    assert strided(rows, length=length, input_stride=stride, start=start, step=step).tolist() == expected


@given(n=st.integers(1, 60), shards=st.integers(1, 9), epoch=st.integers(0, 5))
def test_shards_cut_each_epoch_without_rest(n: int, shards: int, epoch: int) -> None:
    found: list[int] = []
    for index in range(min(shards, n)):
        length = len(range(index, n, shards))
        rows = np.arange(length) + epoch * length
        found += strided(rows, length=length, input_stride=n, start=index, step=shards).tolist()
    assert sorted(found) == list(range(epoch * n, (epoch + 1) * n))


def test_a_negative_step_runs_backwards() -> None:
    assert strided(np.arange(6), length=3, input_stride=5, start=4, step=-2).tolist() == [4, 2, 0, 9, 7, 5]


def test_an_empty_list_of_rows_needs_no_dataset() -> None:
    assert strided(np.arange(0), length=0, input_stride=0).tolist() == []


def test_an_infinite_input_counts_2_to_the_48_rows_to_an_epoch() -> None:
    rows = np.array([0, 9, 10, 25])
    assert strided(rows, length=10, input_stride=1 << 48).tolist() == [0, 9, 1 << 48, (2 << 48) + 5]


def test_rows_beyond_an_int64_are_refused() -> None:
    with pytest.raises(OverflowError, match="repeats more often than rows can be counted"):
        strided(np.array([10 << 15]), length=10, input_stride=1 << 48)
    with pytest.raises(OverflowError):
        strided(np.array([1 << 62]), length=1, input_stride=2)


def test_negative_rows_are_refused() -> None:
    with pytest.raises(ValueError, match="row -1 is negative"):
        strided(np.array([-1]), length=3, input_stride=4)

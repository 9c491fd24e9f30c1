"""Rows of one rank."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from penstock.index.parted import part_size, positions_of, rows_of_part


@given(st.integers(0, 40), st.integers(1, 9), st.booleans())
def test_ranks_have_all_positions_and_as_many_as_each_other(count, world, strided):
    parts = [positions_of(count, rank, world, strided=strided).tolist() for rank in range(world)]
    assert sorted(row for part in parts for row in part) == list(range(count))
    sizes = [len(part) for part in parts]
    assert sizes == sorted(sizes, reverse=True) == [part_size(count, rank, world) for rank in range(world)]
    assert sizes[0] - sizes[-1] <= 1


def test_consecutive_rows_end_to_end_are_the_batch():
    parts = [positions_of(7, rank, 3, strided=False) for rank in range(3)]
    assert np.concatenate(parts).tolist() == list(range(7))


def test_a_short_last_batch_is_divided_like_any_other():
    shared = {"batch": 4, "input_stride": 7, "world": 2, "strided": False}
    first = rows_of_part(np.arange(8), length=4, rank=0, **shared)
    second = rows_of_part(np.arange(6), length=3, rank=1, **shared)
    assert first.tolist() == [0, 1, 4, 5, 7, 8, 11, 12]
    assert second.tolist() == [2, 3, 6, 9, 10, 13]

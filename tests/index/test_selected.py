"""Positions from a list."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.index.selected import selected


@given(positions=st.lists(st.integers(0, 20), min_size=1, max_size=9), rows=st.lists(st.integers(0, 100), max_size=20))
def test_an_epoch_consists_of_the_listed_positions(positions: list[int], rows: list[int]) -> None:
    expected = [row // len(positions) * 21 + positions[row % len(positions)] for row in rows]
    assert selected(np.array(rows, np.int64), positions=np.array(positions), input_stride=21).tolist() == expected


def test_no_rows_need_no_positions_and_negative_ones_are_refused() -> None:
    assert selected(np.arange(0), positions=np.arange(0), input_stride=3).tolist() == []
    with pytest.raises(ValueError, match="row -1 is negative"):
        selected(np.array([-1]), positions=np.arange(1), input_stride=3)
    with pytest.raises(ValueError, match="row 0 of a dataset of length 0"):
        selected(np.array([0]), positions=np.arange(0), input_stride=3)

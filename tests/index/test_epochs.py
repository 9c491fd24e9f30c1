"""Epochs: divmod, and the end of what an int64 counts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.index.epochs import check_last, positions, split


@given(rows=st.lists(st.integers(0, (1 << 63) - 1), min_size=1, max_size=9), length=st.integers(1, 1 << 62))
def test_epochs_and_positions_equal_divmod(rows: list[int], length: int) -> None:
    epochs, positions = split(np.array(rows), length)
    assert np.broadcast_to(epochs, positions.shape).tolist() == [row // length for row in rows]
    assert positions.tolist() == [row % length for row in rows]


@given(rows=st.lists(st.integers(0, (1 << 63) - 1), max_size=3), length=st.integers(1, 1 << 62))
def test_positions_equal_the_remainder(rows: list[int], length: int) -> None:
    assert positions(np.array(rows, np.int64), length).tolist() == [row % length for row in rows]


def test_a_single_row_gives_the_same_result() -> None:
    assert positions(np.array([4]), 5).tolist() == [4]
    assert positions(np.array([5]), 5).tolist() == [0]
    with pytest.raises(ValueError, match="negative"):
        positions(np.array([-1]), 5)


def test_the_last_epoch_that_can_be_counted() -> None:
    check_last(np.int64((1 << 15) - 1), 1 << 48)
    with pytest.raises(OverflowError, match="epoch 32768 of an input with"):
        check_last(np.array([0, 1 << 15]), 1 << 48)

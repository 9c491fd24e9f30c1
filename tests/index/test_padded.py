"""Rows beyond the last element of an epoch."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.index.padded import padded


@given(length=st.integers(1, 9), more=st.integers(0, 9), rows=st.lists(st.integers(0, 60), max_size=9))
def test_padding_rows_point_to_the_last_element_of_their_epoch(length, more, rows):
    stride = length + more
    made, real = padded(np.array(rows, np.int64), length=length, stride=stride, input_stride=length)
    assert made.tolist() == [row // stride * length + min(row % stride, length - 1) for row in rows]
    assert real.tolist() == [row % stride < length for row in rows]


def test_negative_rows_are_refused():
    with pytest.raises(ValueError, match="row -1 is negative"):
        padded(np.array([-1]), length=2, stride=3, input_stride=2)

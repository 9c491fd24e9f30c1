"""Zips: the same position of every input, epoch by epoch."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from penstock.index.paired import paired


@given(strides=st.lists(st.integers(1, 40), min_size=1, max_size=4), rows=st.lists(st.integers(0, 300), max_size=20))
def test_each_input_gives_the_row_at_the_same_position(strides: list[int], rows: list[int]) -> None:
    length = min(strides)
    found = paired(np.array(rows, np.int64), length=length, strides=strides)
    for stride, each in zip(strides, found, strict=True):
        assert each.tolist() == [row // length * stride + row % length for row in rows]

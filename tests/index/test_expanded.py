"""Several rows for each row of the input."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.index.expanded import expanded


@given(n=st.integers(1, 9), count=st.integers(1, 5), rows=st.lists(st.integers(0, 200), max_size=20))
def test_every_row_of_every_epoch_comes_so_many_times_in_a_row(n: int, count: int, rows: list[int]) -> None:
    epoch = [row for row in range(n) for _ in range(count)]
    expected = [row // len(epoch) * n + epoch[row % len(epoch)] for row in rows]
    assert expanded(np.array(rows, np.int64), count=count, stride=n * count, input_stride=n).tolist() == expected


def test_epochs_of_an_endless_input_begin_with_those_of_the_result() -> None:
    stride = 1 << 48
    rows = expanded(np.array([0, 5, stride, stride + 5]), count=3, stride=stride, input_stride=stride)
    assert rows.tolist() == [0, 1, stride, stride + 1]


def test_no_rows_need_no_dataset_and_negative_ones_are_refused() -> None:
    assert expanded(np.arange(0), count=2, stride=0, input_stride=0).tolist() == []
    with pytest.raises(ValueError, match="row -1 is negative"):
        expanded(np.array([-1]), count=2, stride=4, input_stride=2)

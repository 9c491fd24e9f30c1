"""The positions between those that are left out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.index.excluded import excluded, kept_before


@given(n=st.integers(1, 40), data=st.data())
def test_kept_elements_stay_in_order(n: int, data: st.DataObject) -> None:
    left_out = data.draw(st.sets(st.integers(0, n - 1), max_size=n - 1))
    kept = [row for row in range(n) if row not in left_out]
    rows = data.draw(st.lists(st.integers(0, 3 * len(kept)), max_size=20))
    expected = [row // len(kept) * n + kept[row % len(kept)] for row in rows]
    positions = np.array(sorted(left_out), np.int64)
    made = excluded(np.array(rows, np.int64), kept=kept_before(positions), stride=len(kept), input_stride=n)
    assert made.tolist() == expected


def test_a_trillion_elements_can_be_excluded_from() -> None:
    count = 10**12
    rows = excluded(
        np.array([0, 4, 5, count - 3]), kept=kept_before(np.array([5, count - 1])), stride=count - 2, input_stride=count
    )
    assert rows.tolist() == [0, 4, 6, count - 2]


def test_no_rows_need_no_dataset_and_negative_ones_are_refused() -> None:
    assert excluded(np.arange(0), kept=np.arange(2), stride=0, input_stride=2).tolist() == []
    with pytest.raises(ValueError, match="row -1 is negative"):
        excluded(np.array([-1]), kept=np.arange(1), stride=4, input_stride=5)

"""Batches: the elements of each, and the way back."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.index.grouped import group_of
from penstock.kernels import group_rows


@given(
    n=st.integers(1, 60),
    size=st.integers(1, 70),
    drop=st.booleans(),
    spare=st.integers(0, 5),
    rows=st.lists(st.integers(0, 100), max_size=20),
)
def test_a_batch_is_its_consecutive_elements(n: int, size: int, drop: bool, spare: int, rows: list[int]) -> None:
    epoch = [list(range(start, min(start + size, n))) for start in range(0, n, size)]
    if drop:
        epoch = [batch for batch in epoch if len(batch) == size]
    if not epoch:
        rows = []
    stride = n + spare
    expected = [[e + row // len(epoch) * stride for e in epoch[row % len(epoch)]] for row in rows]
    numbers = np.array(rows, np.int64)
    elements, counts = group_rows(numbers, size=size, batches=len(epoch), length=n, input_stride=stride)
    assert elements.tolist() == [element for batch in expected for element in batch]
    assert counts.tolist() == [len(batch) for batch in expected]
    if len(elements):
        batch, place = group_of(elements, size=size, batches=len(epoch), input_stride=stride)
        assert batch.tolist() == [row for row, batch in zip(rows, expected, strict=True) for _ in batch]
        assert place.tolist() == [i for batch in expected for i in range(len(batch))]


def test_an_infinite_input_has_full_batches() -> None:
    stride = 1 << 48
    batches = -(-stride // 3)
    elements, counts = group_rows(np.array([0, 1 << 40]), size=3, batches=batches, length=stride, input_stride=stride)
    assert elements.tolist() == [0, 1, 2, 3 << 40, (3 << 40) + 1, (3 << 40) + 2]
    assert counts.tolist() == [3, 3]


def test_an_element_of_the_dropped_remainder_is_in_no_batch() -> None:
    with pytest.raises(ValueError, match="row 7 is in no batch: an epoch has 2 batches of 3"):
        group_of(np.array([5, 7]), size=3, batches=2, input_stride=8)


def test_an_empty_list_of_rows_needs_no_dataset() -> None:
    none = np.arange(0)
    assert [each.tolist() for each in group_rows(none, size=3, batches=0, length=0, input_stride=0)] == [[], []]
    assert [each.tolist() for each in group_of(none, size=3, batches=0, input_stride=0)] == [[], []]


def test_negative_and_uncountable_rows_are_refused() -> None:
    with pytest.raises(ValueError, match="row -1 is negative"):
        group_rows(np.array([-1]), size=2, batches=3, length=6, input_stride=6)
    with pytest.raises(OverflowError, match="repeats more often"):
        group_rows(np.array([1 << 16]), size=2, batches=1, length=2, input_stride=1 << 48)
    with pytest.raises(OverflowError, match="repeats more often"):
        group_of(np.array([1 << 40]), size=1, batches=1 << 48, input_stride=1)

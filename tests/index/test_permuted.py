"""Shuffles: every epoch a permutation of itself."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.seeds import mix
from penstock.index.permuted import permuted
from penstock.kernels.reference import permute as twin


@given(
    length=st.integers(1, 300),
    epochs=st.integers(1, 4),
    key=st.integers(-(1 << 63), (1 << 64) - 1),
    window=st.none() | st.integers(1, 400),
    reshuffle=st.booleans(),
)
def test_each_epoch_is_permuted_by_its_own_key(
    length: int, epochs: int, key: int, window: int | None, reshuffle: bool
) -> None:
    rows = np.arange(length * epochs)
    moved = permuted(rows, length=length, key=key, window=window, reshuffle=reshuffle)
    word = key & ((1 << 64) - 1)
    for epoch in range(epochs):
        epoch_key = mix(mix(word, epoch if reshuffle else 0), length)
        order = twin.permute_within(np.arange(length), length, window or length, epoch_key)
        assert moved[epoch * length : (epoch + 1) * length].tolist() == (order + epoch * length).tolist()
    if window is not None:
        assert (rows - moved).max() < 6 * max(window, 2)
        assert (moved - rows).max() <= 1.5 * window


def test_another_key_is_another_order() -> None:
    orders = {tuple(permuted(np.arange(20), length=20, key=key).tolist()) for key in range(50)}
    assert len(orders) == 50


def test_an_empty_list_of_rows_needs_no_dataset() -> None:
    assert permuted(np.arange(0), length=0, key=1).tolist() == []


def test_an_infinite_dataset_is_shuffled_over_2_to_the_48_rows() -> None:
    rows = np.array([0, 1, 1 << 48, (1 << 62) + 5])
    moved = permuted(rows, length=1 << 48, key=1)
    assert (moved // (1 << 48)).tolist() == [0, 0, 1, 1 << 14]


def test_negative_rows_are_refused() -> None:
    with pytest.raises(ValueError, match="row -1 is negative"):
        permuted(np.array([-1]), length=3, key=1)

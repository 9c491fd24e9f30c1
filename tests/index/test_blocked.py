"""Shuffles by blocks: every epoch a permutation of itself, a window of blocks at a time."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.index.blocked import Blocks, blocks_end_to_end, blocks_side_by_side, even

LENGTHS = st.lists(st.integers(1, 30), min_size=1, max_size=20)


def blocks_of(lengths: list[int], window: int) -> Blocks:
    return Blocks(np.cumsum([0, *lengths]), window)


@given(LENGTHS, st.integers(1, 25), st.integers(-(1 << 63), (1 << 64) - 1), st.integers(1, 6), st.booleans())
def test_every_epoch_is_a_permutation_of_itself(lengths, window, key, epochs, reshuffle):
    blocks = blocks_of(lengths, window)
    n = blocks.length
    moved = blocks.permuted(np.arange(n * epochs), key=key, reshuffle=reshuffle).reshape(epochs, n)
    for epoch in range(epochs):
        assert sorted(moved[epoch].tolist()) == list(range(epoch * n, (epoch + 1) * n))
    if not reshuffle:
        assert (moved - np.arange(epochs)[:, None] * n == moved[0]).all()


@given(LENGTHS, st.integers(1, 25), st.integers(0, 1 << 32), st.data())
def test_rows_do_not_depend_on_the_other_rows_requested(lengths, window, key, data):
    whole = blocks_of(lengths, window)
    epochs = whole.permuted(np.arange(whole.length * 3), key=key)
    rows = np.array(data.draw(st.lists(st.integers(0, len(epochs) - 1), max_size=20)), np.int64)
    assert blocks_of(lengths, window).permuted(rows, key=key).tolist() == epochs[rows].tolist()


@given(LENGTHS, st.integers(1, 25), st.integers(0, 1 << 32))
def test_no_more_blocks_than_a_window_are_read_at_a_time(lengths, window, key):
    blocks = blocks_of(lengths, window)
    moved = blocks.permuted(np.arange(blocks.length), key=key)
    block = blocks.bounds.searchsorted(moved, "right") - 1
    spans = [np.flatnonzero(block == number) for number in range(blocks.count)]
    opened = np.zeros(blocks.length, np.int64)
    for span in spans:
        opened[span[0] : span[-1] + 1] += 1
    assert opened.max() <= window
    assert max(span[-1] - span[0] + 1 for span in spans) <= blocks.widest


def test_rows_of_a_window_are_mixed_and_every_epoch_has_another_order_of_blocks():
    blocks = even(10_000, 100, 10)
    moved = blocks.permuted(np.arange(20_000), key=5).reshape(2, -1)
    assert len(np.unique(moved[0, :100] // 100)) == 10  # of the first window all blocks are met at once
    assert abs(np.corrcoef(moved[0, :1000] % 100, np.arange(1000))[0, 1]) < 0.1
    assert (moved[0] // 100 != moved[1] // 100 - 100).mean() > 0.9


def test_one_block_and_one_row_are_shuffled_too():
    assert blocks_of([1], 4).permuted(np.arange(3), key=1).tolist() == [0, 1, 2]
    assert sorted(blocks_of([20], 4).permuted(np.arange(20), key=1).tolist()) == list(range(20))
    assert blocks_of([20], 4).permuted(np.arange(0), key=1).tolist() == []
    with pytest.raises(ValueError, match="row -1 is negative"):
        blocks_of([20], 4).permuted(np.array([-1]), key=1)
    with pytest.raises(ValueError, match="row 0 of a dataset of length 0"):
        Blocks(np.array([0]), 4).permuted(np.array([0]), key=1)


def test_alternating_epochs_are_kept_apart():
    blocks = even(60, 7, 2)
    rows = np.arange(60 * 10)
    whole = blocks.permuted(rows, key=3)
    assert all(blocks.permuted(rows[i::60], key=3).tolist() == whole[i::60].tolist() for i in range(60))


@given(LENGTHS, st.integers(0, 50), st.integers(1, 7))
def test_a_cut_keeps_the_blocks_of_the_remaining_rows(lengths, start, step):
    blocks = blocks_of(lengths, 3)
    kept = np.arange(start, blocks.length, step)
    cut = blocks.cut(len(kept), lambda rows: start + rows * step)
    if not len(kept):
        assert cut is None
        return
    block = blocks.bounds.searchsorted(kept, "right") - 1
    begins = [0, *(np.flatnonzero(np.diff(block)) + 1).tolist(), len(kept)]
    assert cut.bounds.tolist() == begins
    assert cut.window == 3


@given(LENGTHS, LENGTHS)
def test_blocks_of_paired_inputs_cross_no_boundary_of_either(one, other):
    first, second = blocks_of(one, 4), blocks_of(other, 2)
    length = min(first.length, second.length)
    both = blocks_side_by_side(first, second, length)
    assert both.window == 2
    borders = {*first.bounds.tolist(), *second.bounds.tolist()}
    assert both.bounds.tolist() == sorted({border for border in borders if border <= length})


def test_blocks_of_joined_inputs_follow_each_other():
    assert blocks_end_to_end(even(5, 2, 4), even(3, 2, 9)).bounds.tolist() == [0, 2, 4, 5, 7, 8]


def test_pickles_and_fingerprints_have_only_the_blocks():
    blocks = even(100, 7, 2)
    order = blocks.permuted(np.arange(100), key=1)
    there = pickle.loads(pickle.dumps(blocks))
    assert there.permuted(np.arange(100), key=1).tolist() == order.tolist()
    assert there.fingerprint() == blocks.fingerprint() != even(100, 7, 3).fingerprint() != even(100, 8, 3).fingerprint()

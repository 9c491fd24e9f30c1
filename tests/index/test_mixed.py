"""Mixtures: which input each slot draws from, and the row of it; alone as in a row, in proportion in every window."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.seeds import mix
from penstock.index.mixed import leaves, lefts
from penstock.index.timetable import Schedule
from penstock.index.weights import Steady

WEIGHTS = st.lists(st.one_of(st.floats(0, 10), st.integers(0, 4).map(float)), min_size=1, max_size=9).filter(any)
KEYS = st.none() | st.integers(0, (1 << 64) - 1)


def endless(weights: list[float]) -> Schedule:
    return Schedule(Steady(tuple(weights)), [None] * len(weights))


@given(weights=WEIGHTS, key=KEYS, start=st.integers(0, 10**6))
def test_each_input_comes_in_its_own_order_without_loss(weights: list[float], key: int | None, start: int) -> None:
    which, rank = endless(weights).split(np.arange(start, start + 600), key)
    for each in range(len(weights)):
        mine = rank[which == each]
        before, after = (int(endless(weights).drawn_before(slot, key)[each]) for slot in (start, start + 600))
        assert mine.tolist() == list(range(before, after))
        assert before == after or weights[each] > 0


@given(weights=WEIGHTS, key=KEYS, slots=st.lists(st.integers(0, (1 << 48) - 1), min_size=1, max_size=20))
def test_slots_do_not_depend_on_the_other_slots_requested(
    weights: list[float], key: int | None, slots: list[int]
) -> None:
    schedule = endless(weights)
    which, rank = schedule.split(np.array(slots), key)
    for slot, input, row in zip(slots, which.tolist(), rank.tolist(), strict=True):
        alone = schedule.split(np.array([slot]), key)
        assert (alone[0].tolist(), alone[1].tolist()) == ([input], [row])
        assert schedule.drawn_before(slot, key)[input] == row
        assert schedule.drawn_before(slot, key).sum() == slot


@given(weights=WEIGHTS, start=st.integers(0, 10**9))
def test_every_window_has_its_share_of_each_input(weights: list[float], start: int) -> None:
    which, _ = endless(weights).split(np.arange(start, start + 300))
    levels = max((len(weights) - 1).bit_length(), 1)
    for input, weight in enumerate(weights):
        share = weight / sum(weights)
        surplus = np.cumsum(np.concatenate([[0], which == input])) - share * np.arange(301)
        assert surplus.max() - surplus.min() <= levels + 1e-3


@pytest.mark.parametrize("weights", [(1, 1), (7, 3), (0.9, 0.05, 0.05), (1, 2, 3, 4), (1,) * 20, (8, 4, 2, 1, 1)])
def test_windows_are_mostly_within_two_rows_of_their_share(weights: tuple[float, ...]) -> None:
    which, _ = endless(list(weights)).split(np.arange(2000))
    for input, weight in enumerate(weights):
        surplus = np.cumsum(np.concatenate([[0], which == input])) - weight / sum(weights) * np.arange(2001)
        assert surplus.max() - surplus.min() <= 2.0


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 8, 13])
def test_equal_weights_alternate(count: int) -> None:
    which, _ = endless([1.0] * count).split(np.arange(3 * count))
    for turn in range(3):
        assert sorted(which[turn * count : (turn + 1) * count].tolist()) == list(range(count))


@given(weights=WEIGHTS, key=st.integers(0, (1 << 64) - 1), block=st.integers(0, 10**6))
def test_at_random_no_prefix_is_far_from_the_even_order(weights: list[float], key: int, block: int) -> None:
    schedule = endless(weights)
    at_random = schedule.drawn_before(4096 * block, key)
    levels = max((len(weights) - 1).bit_length(), 1)
    assert np.abs(at_random - schedule.drawn_before(4096 * block)).max() <= 13 * levels


def test_at_random_every_slot_draws_in_proportion() -> None:
    schedule = endless([0.9, 0.09, 0.01])
    which = np.stack([schedule.split(np.arange(4096, 4096 + 512), mix(3, epoch))[0] for epoch in range(2000)])
    # 2000 draws a slot: five standard deviations of 0.09 and of 0.01 are 0.032 and 0.011
    assert np.abs((which == 1).mean(axis=0) - 0.09).max() < 0.034
    assert np.abs((which == 2).mean(axis=0) - 0.01).max() < 0.012
    # slots that follow one another know little of each other
    rare = (which == 2).astype(float)
    assert abs(np.corrcoef(rare[:, 100], rare[:, 101])[0, 1]) < 0.1


def test_at_random_strided_slots_draw_in_proportion() -> None:
    for stride in (2, 8, 100, 1024):
        which, _ = endless([0.5, 0.49, 0.01]).split(np.arange(0, 100_000 * stride, stride), key=1)
        assert abs((which == 0).mean() - 0.5) < 0.01
        assert abs((which == 2).mean() - 0.01) < 0.002


def test_each_slot_may_have_its_own_key() -> None:
    schedule, slots = endless([1.0, 2.0, 3.0]), np.arange(100)
    keys = np.array([mix(slot % 2) for slot in slots.tolist()], np.uint64)
    which, rank = schedule.split(slots, keys)
    for parity in (0, 1):
        alone = schedule.split(slots, mix(parity))
        assert which[parity::2].tolist() == alone[0][parity::2].tolist()
        assert rank[parity::2].tolist() == alone[1][parity::2].tolist()
    assert schedule.split(slots, mix(0))[0].tolist() != schedule.split(slots, mix(1))[0].tolist()


def test_leaves_are_every_leaf_once() -> None:
    for width in (1, 2, 4, 64):
        assert sorted(leaves(width).tolist()) == list(range(width))


@given(slots=st.integers(0, (1 << 62) - 1), whole=st.integers(1, (1 << 31) - 1), data=st.data())
def test_lefts_do_not_overflow(slots: int, whole: int, data: st.DataObject) -> None:
    left, phase = data.draw(st.integers(0, whole)), data.draw(st.integers(0, whole - 1))
    arrays = (np.array([value]) for value in (slots, left, whole, phase))
    assert lefts(*arrays).tolist() == [(slots * left + phase) // whole]

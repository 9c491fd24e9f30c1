"""Orders: bijections that look random, in any length."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from penstock import kernels
from penstock.core.seeds import mix

EDGES = sorted({1 << k for k in range(23)} | {(1 << k) - 1 for k in range(1, 23)} | {(1 << k) + 1 for k in range(23)})
LARGE = [10**9, (1 << 32) - 1, 1 << 32, (1 << 32) + 1, 10**15, 1 << 48, (1 << 61) + 1, (1 << 62) - 1, 1 << 62]
WORD = (1 << 64) - 1


def is_bijection(order: np.ndarray, length: int) -> bool:
    return len(order) == length and bool((np.sort(order) == np.arange(length)).all())


def deviation(observed: np.ndarray, expected: float) -> float:
    """Chi-square of cells that should be equally full, in standard deviations (Wilson and Hilferty 1931)."""
    freedom = observed.size - 1
    chi_square = float(((observed - expected) ** 2 / expected).sum())
    return (math.cbrt(chi_square / freedom) - (1 - 2 / (9 * freedom))) / math.sqrt(2 / (9 * freedom))


# Bijections


def test_every_length_up_to_4096_is_permuted_and_inverted() -> None:
    for length in range(4097):
        positions = np.arange(length)
        order = kernels.permute(positions, length, key=length * 7)
        assert is_bijection(order, length), length
        assert (kernels.unpermute(order, length, key=length * 7) == positions).all(), length


@pytest.mark.parametrize("length", EDGES)
def test_lengths_around_powers_of_two_are_permuted(length: int) -> None:
    assert is_bijection(kernels.permute(np.arange(length), length, key=1), length)


@pytest.mark.parametrize("length", LARGE)
def test_large_lengths_are_inverted(length: int) -> None:
    ends = np.concatenate([np.arange(5_000), np.arange(length - 5_000, length)])
    positions = np.concatenate([ends, np.random.default_rng(0).integers(0, length, 30_000)])
    for key in (0, 1, WORD):
        order = kernels.permute(positions, length, key)
        assert order.min() >= 0
        assert order.max() < length
        assert (kernels.unpermute(order, length, key) == positions).all()
        assert len(np.unique(order)) == len(np.unique(positions))


def test_positions_do_not_depend_on_the_other_positions_requested() -> None:
    for length in (16, 17, 200, 1000, 60_000, (1 << 40) + 1):
        positions = np.random.default_rng(1).integers(0, length, 700)
        together = kernels.permute(positions, length, key=3)
        alone = [int(kernels.permute(positions[i : i + 1], length, key=3)[0]) for i in range(len(positions))]
        assert together.tolist() == alone


def test_strided_input_is_read_correctly() -> None:
    positions = np.arange(100)
    assert (kernels.permute(positions[::-3], 100, 5) == kernels.permute(positions, 100, 5)[::-3]).all()


# Uniformity, with fixed keys: five standard deviations


@pytest.mark.parametrize("length", [3, 4, 5, 6])
def test_all_orders_of_a_few_elements_are_equally_likely(length: int) -> None:
    drawn = 200 * math.factorial(length)
    positions = np.arange(length)
    orders = [tuple(kernels.permute(positions, length, key).tolist()) for key in range(drawn)]
    counts = dict.fromkeys(itertools.permutations(range(length)), 0)
    for order in orders:
        counts[order] += 1
    assert abs(deviation(np.array(list(counts.values())), 200)) < 5


@pytest.mark.parametrize("length", [7, 16, 17, 31, 33, 64, 65])
def test_pairs_of_places_are_equally_likely_across_sequential_keys(length: int) -> None:
    keys = 60_000
    asked = np.array([0, 1, length // 2, length - 1])
    orders = np.array([kernels.permute(asked, length, key) for key in range(keys)])  # (keys, 4)
    for first, second in itertools.combinations(range(4), 2):
        cells = np.bincount(orders[:, first] * length + orders[:, second], minlength=length * length)
        apart = cells.reshape(length, length)[~np.eye(length, dtype=bool)]
        assert abs(deviation(apart, keys / (length * (length - 1)))) < 5, (first, second)


@pytest.mark.parametrize("length", [1000, 1025, 60_000, 1 << 20, (1 << 32) + 1, (1 << 61) + 1])
def test_places_and_neighbours_are_spread_across_keys(length: int) -> None:
    keys, buckets = 20_000, 25
    for step in (1, 2, length // 2):
        asked = np.array([7, 7 + step])
        orders = np.array([kernels.permute(asked, length, mix(key)) for key in range(keys)])
        bucket = (orders // -(-length // buckets)).astype(int)  # (keys, 2)
        assert abs(deviation(np.bincount(bucket[:, 0], minlength=buckets), keys / buckets)) < 5
        joint = np.bincount(bucket[:, 0] * buckets + bucket[:, 1], minlength=buckets**2)
        assert abs(deviation(joint, keys / buckets**2)) < 5, step


@pytest.mark.parametrize("length", [1 << 20, 1_000_000, (1 << 32) + 1, 1 << 40])
@pytest.mark.parametrize("step", [1, 2, 256, 1 << 16])
def test_neighbours_within_one_order_are_independent(length: int, step: int) -> None:
    buckets, count = 25, 50_000
    width = -(-length // buckets)
    for key in range(5):
        here = kernels.permute(np.arange(count), length, key) // width
        there = kernels.permute(np.arange(step, count + step), length, key) // width
        joint = np.bincount(here * buckets + there, minlength=buckets**2)
        assert abs(deviation(joint, count / buckets**2)) < 5


def test_the_lowest_bits_are_as_random_as_the_highest() -> None:
    for length in (1 << 20, 1 << 40):
        low = kernels.permute(np.arange(100_000), length, 9) & 15
        joint = np.bincount(low[:-1] * 16 + low[1:], minlength=256)
        assert abs(deviation(joint, 99_999 / 256)) < 5


def test_even_and_odd_orders_both_occur() -> None:
    for length in (5, 20, 32, 33):
        parities = []
        for key in range(400):
            order, seen, odd = kernels.permute(np.arange(length), length, key).tolist(), set[int](), 0
            for start in range(length):
                at, size = start, 0
                while at not in seen:
                    seen.add(at)
                    at, size = order[at], size + 1
                odd ^= size > 0 and size % 2 == 0
            parities.append(odd)
        assert 140 < sum(parities) < 260, length  # six standard deviations


# Rows of many epochs


def test_rows_stay_in_their_epoch_and_each_epoch_has_its_own_order() -> None:
    rows = np.arange(30)
    first, second, third = kernels.permute_rows(rows, 10, key=4).reshape(3, 10)
    assert is_bijection(first, 10)
    assert is_bijection(second - 10, 10)
    assert is_bijection(third - 20, 10)
    assert (first != second - 10).any()
    assert (first == kernels.permute(np.arange(10), 10, mix(mix(4, 0), 10))).all()
    assert (third == 20 + kernels.permute(np.arange(10), 10, mix(mix(4, 2), 10))).all()


def test_without_reshuffling_every_epoch_has_the_order_of_epoch_0() -> None:
    first, second = kernels.permute_rows(np.arange(20), 10, key=4, reshuffle=False).reshape(2, 10)
    assert (first == second - 10).all()


@pytest.mark.parametrize("length", [1, 5, 16, 17, 1000, 1 << 48])
@pytest.mark.parametrize("reshuffle", [True, False])
def test_permuted_rows_are_inverted(length: int, reshuffle: bool) -> None:
    rows = np.random.default_rng(2).integers(0, 40 * length, 2000)
    moved = kernels.permute_rows(rows, length, 8, reshuffle)
    assert (moved // length == rows // length).all()
    assert (kernels.unpermute_rows(moved, length, 8, reshuffle) == rows).all()
    alone = [int(kernels.permute_rows(rows[i : i + 1], length, 8, reshuffle)[0]) for i in range(300)]
    assert moved[:300].tolist() == alone


# Windows


@pytest.mark.parametrize("length", [1, 2, 3, 10, 17, 64, 1000, 4097])
def test_a_window_bounds_how_far_anything_moves(length: int) -> None:
    positions = np.arange(length)
    for window in (1, 2, 3, 4, 5, 10, 33, 100, length - 1, length):
        if window < 1:
            continue
        order = kernels.permute_within(positions, length, window, key=6)
        assert is_bijection(order, length)
        assert (order - positions).max() <= 1.5 * window
        assert (positions - order).max() < 6 * max(window, 2)


def test_a_window_of_one_keeps_the_order_and_one_of_everything_is_the_full_order() -> None:
    positions = np.arange(500)
    assert (kernels.permute_within(positions, 500, 1, 3) == positions).all()
    assert (kernels.permute_within(positions, 500, 500, 3) == kernels.permute(positions, 500, 3)).all()
    assert (kernels.permute_within(positions, 500, 10**30, 3) == kernels.permute(positions, 500, 3)).all()


def test_a_window_of_two_moves_something() -> None:
    assert (kernels.permute_within(np.arange(100), 100, 2, 3) != np.arange(100)).any()


def test_a_window_mixes_over_more_than_itself() -> None:
    order = kernels.permute_within(np.arange(100_000), 100_000, 1000, 1)
    assert 1000 < (order - np.arange(100_000)).std() < 1500
    # no position is a barrier: something crosses each
    crossing = np.zeros(100_001, int)
    np.add.at(crossing, np.minimum(order, np.arange(100_000)), 1)
    np.add.at(crossing, np.maximum(order, np.arange(100_000)), -1)
    assert np.cumsum(crossing)[600:-600].min() > 50


def test_positions_in_a_window_do_not_depend_on_other_positions() -> None:
    rows = np.random.default_rng(3).integers(0, 5 * 1_000_003, 5000)
    for reshuffle in (True, False):
        moved = kernels.permute_rows_within(rows, 1_000_003, 200, 8, reshuffle)
        assert np.abs(moved - rows).max() < 6 * 200
        assert (moved // 1_000_003 == rows // 1_000_003).all()
        alone = [int(kernels.permute_rows_within(rows[i : i + 1], 1_000_003, 200, 8, reshuffle)[0]) for i in range(300)]
        assert moved[:300].tolist() == alone
        alone = [int(kernels.permute_rows_within(rows[i : i + 1], 1_000_003, 200, 8, reshuffle)[0]) for i in range(300)]
        assert moved[:300].tolist() == alone


# What is refused


@pytest.mark.parametrize("bad", [-1, 10, 1 << 62, -(1 << 63), (1 << 63) - 1])
@pytest.mark.parametrize("size", [1, 3, 50])
def test_a_position_outside_is_named(bad: int, size: int) -> None:
    positions = np.zeros(size, np.int64)
    positions[size // 2] = bad
    for call in (kernels.permute, kernels.unpermute):
        with pytest.raises(ValueError, match=rf"position {bad} is outside \[0, 10\)"):
            call(positions, 10, 1)
    with pytest.raises(ValueError, match=rf"position {bad} "):
        kernels.permute_within(positions, 10, 3, 1)


def test_a_length_beyond_2_to_the_62_is_refused() -> None:
    with pytest.raises(ValueError, match="largest length is 2\\*\\*62"):
        kernels.permute(np.arange(3), (1 << 62) + 1, 1)


def test_an_empty_range_has_no_positions() -> None:
    assert kernels.permute(np.arange(0), 0, 1).tolist() == []
    with pytest.raises(ValueError, match="outside"):
        kernels.permute(np.arange(1), 0, 1)
    with pytest.raises(ValueError, match="length 0"):
        kernels.permute_rows(np.arange(1), 0, 1)


def test_negative_rows_and_uncountable_epochs_are_refused() -> None:
    with pytest.raises(ValueError, match="row -3 is negative"):
        kernels.permute_rows(np.array([5, -3]), 10, 1)
    last = (1 << 63) - 1
    with pytest.raises(OverflowError, match="ends beyond"):
        kernels.permute_rows(np.array([last]), 1000, 1)
    assert kernels.permute_rows(np.array([last]), 1, 1).tolist() == [last]


def test_a_window_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        kernels.permute_within(np.arange(3), 3, 0, 1)


def test_other_dtypes_and_shapes_are_refused() -> None:
    with pytest.raises(TypeError, match="int64"):
        kernels.permute(np.zeros(3), 3, 1)
    with pytest.raises(TypeError, match="int64"):
        kernels.permute(np.zeros(3, np.int32), 3, 1)
    with pytest.raises(TypeError, match="one-dimensional"):
        kernels.permute(np.zeros((2, 2), np.int64), 3, 1)

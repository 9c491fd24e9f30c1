"""Counts, means and deviations that merge, beside plain Python and NumPy."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from penstock.dataset.describing import moments
from penstock.dataset.describing.moments import Floats, Moments, Whole, blocks, moments_of

WHOLE = st.sampled_from(["u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "?"])
SHAPES = arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=7)


@given(WHOLE.flatmap(lambda dtype: arrays.arrays(dtype, SHAPES)))
def test_integers_are_added_exactly(array):
    whole = Whole()
    whole.add_array(array)
    numbers = [int(each) for each in array.reshape(-1).tolist()]
    assert (whole.count, whole.total) == (len(numbers), sum(numbers))
    assert whole.squares == sum(each * each for each in numbers)
    assert (whole.low, whole.high) == (min(numbers, default=None), max(numbers, default=None))
    assert whole.mean == (float(Fraction(sum(numbers), len(numbers))) if numbers else None)


@pytest.mark.parametrize("dtype", ["u1", "i4", "u4", "i8", "u8"])
def test_the_extremes_of_a_dtype_are_added_exactly_in_full_blocks(dtype):
    info = np.iinfo(dtype)
    array = np.full(moments.MOST_NUMBERS + 3, info.max, dtype)
    array[::3] = info.min
    whole = Whole()
    whole.add_array(array)
    low, high = len(array[::3]), len(array) - len(array[::3])
    assert whole.total == low * info.min + high * info.max
    assert whole.squares == low * info.min**2 + high * info.max**2


@given(st.lists(st.integers(-(2**80), 2**80)), st.integers(0, 20))
def test_python_integers_of_any_size_merge_exactly(numbers, cut):
    whole, rest = Whole(), Whole()
    whole.add(numbers[:cut])
    rest.add(numbers[cut:])
    whole.merge(rest)
    expected = Whole()
    expected.add(numbers)
    assert whole == expected


@given(arrays.arrays(np.float64, SHAPES, elements=st.floats(-1e6, 1e6)), st.integers(0, 30))
def test_floats_have_the_mean_and_deviation_of_numpy(array, cut):
    flat = array.reshape(-1)
    whole = moments_of(flat[:cut])
    whole.merge(moments_of(flat[cut:]))
    assert whole.count == array.size
    if array.size:
        assert whole.mean == pytest.approx(array.mean(), rel=1e-9, abs=1e-6)
        assert whole.deviation == pytest.approx(array.std(), rel=1e-6, abs=1e-3)


def test_the_deviation_of_large_numbers_close_together_is_right():
    numbers = 1e9 + np.arange(1000) / 1000
    whole = Moments()
    for part in np.array_split(numbers, 7):
        whole.merge(moments_of(part))
    assert whole.deviation == pytest.approx(np.std(np.arange(1000) / 1000), rel=1e-6)


@given(arrays.arrays(np.float64, SHAPES))
def test_nan_and_infinities_are_counted_apart(array):
    floats = Floats()
    floats.add_array(array)
    assert (floats.count, floats.nan) == (array.size, np.isnan(array).sum())
    assert floats.infinite == np.isinf(array).sum()
    assert floats.moments.count == np.isfinite(array).sum()
    numbers = array[~np.isnan(array)]
    assert (floats.low, floats.high) == ((numbers.min(), numbers.max()) if numbers.size else (None, None))


def test_integers_as_floats():
    whole = Whole()
    whole.add([1, 2, 6])
    assert whole.moments() == Moments(3, 3.0, 14.0)
    assert (whole.deviation, Whole().moments(), Whole().deviation) == (np.std([1, 2, 6]), Moments(), None)


def test_blocks_have_all_numbers_in_the_order_of_rows(monkeypatch):
    monkeypatch.setattr(moments, "MOST_NUMBERS", 16)
    array = np.arange(7 * 5 * 3).reshape(7, 5, 3)
    for each in (
        array,
        np.asfortranarray(array),
        array[::2, ::-1],
        array.T,
        np.broadcast_to(array[:, :1], array.shape),
    ):
        assert np.concatenate([block.copy() for block in blocks(each)]).tolist() == each.reshape(-1).tolist()
        assert all(len(block) <= 16 for block in blocks(each))
    assert list(blocks(np.zeros((0, 3)).T)) == []

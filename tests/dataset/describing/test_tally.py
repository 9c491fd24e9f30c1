"""The tally of one leaf."""

from __future__ import annotations

import enum
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.dataset.describing.tally import PENDING, LeafTally

SCALARS = st.lists(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.text(max_size=4)
    | st.binary(max_size=4)
    | st.floats(width=32).map(np.float32)
    | st.integers(0, 255).map(np.uint8)
    | st.complex_numbers()
    | st.integers(0, 9).map(lambda day: np.datetime64("2026-01-01") + day)
)


def tally_of(values):
    tally = LeafTally()
    for value in values:
        tally.add(value)
    return tally


def exact(tally):
    """Everything in a tally, to the last bit, as text (NaN is equal to itself there)."""
    return json.dumps(tally.state())


@given(SCALARS, st.integers(0, 20))
def test_a_state_continues_to_the_last_bit(values, cut):
    whole, part = tally_of(values), tally_of(values[:cut])
    again = LeafTally.of_state(json.loads(json.dumps(part.state())))
    for value in values[cut:]:
        again.add(value)
    again.settle()
    whole.settle()
    assert exact(again) == exact(whole)


def test_a_state_in_the_middle_of_many_floats_continues_to_the_last_bit():
    values = np.random.default_rng(0).normal(size=3 * PENDING + 17).tolist()
    whole = tally_of(values)
    for cut in (1, PENDING - 1, PENDING, PENDING + 1, 2 * PENDING + 5):
        again = LeafTally.of_state(json.loads(json.dumps(tally_of(values[:cut]).state())))
        for value in values[cut:]:
            again.add(value)
        assert exact(again) == exact(whole)
    whole.settle()
    assert whole.floats.moments.mean == pytest.approx(np.mean(values))


def test_each_kind_of_value_is_counted():
    class Color(enum.IntEnum):
        RED = 7

    tally = tally_of([None, 1, np.int16(2), Color.RED, True, np.bool_(False), 0.5, "ab", b"c", object(), np.str_("x")])
    tally.settle()
    assert (tally.count, tally.none) == (10, 1)
    assert (tally.whole.total, tally.flags.total, tally.floats.moments.mean) == (10, 1, 0.5)
    assert (tally.lengths.count, tally.lengths.total) == (3, 4)
    assert set(dict(tally.forms.texts())) == {"int64", "int16", "bool", "float64", "str", "bytes", "object"}
    assert tally.classes.counts()["x"] == 1


def test_arrays_of_times_have_a_range_and_count_what_is_no_time():
    tally = LeafTally()
    tally.add_array(np.array(["2026-02-01", "NaT", "2025-01-01"], "M8[D]"))
    tally.add_array(np.array(["2026-03-01T12"], "M8[s]"))
    assert (tally.nat, str(tally.times[0]), str(tally.times[1])) == (1, "2025-01-01", "2026-03-01T12:00:00")
    assert LeafTally.of_state(json.loads(exact(tally))).times == tally.times


def test_times_and_durations_have_no_common_range():
    tally = tally_of([np.datetime64("2026-01-01"), np.timedelta64(3, "D")])
    assert tally.times is None


def test_complex_numbers():
    tally = LeafTally()
    values = np.array([1 + 2j, 3 - 1j, complex(np.nan, 1), complex(np.inf, 0)])
    tally.add_array(values)
    assert (tally.floats.count, tally.floats.nan, tally.floats.infinite) == (4, 1, 1)
    assert complex(tally.floats.moments.mean, tally.imaginary.moments.mean) == values[:2].mean()


def test_pixels_and_long_texts_are_no_classes():
    pixels, labels, text = LeafTally(), LeafTally(), tally_of(["x" * 65, "a"])
    pixels.add_array(np.zeros((4, 4), np.uint8))
    labels.add_array(np.array([3, 3, 1]))
    text.settle()
    assert (pixels.classes.is_open, text.classes.is_open) == (False, False)
    assert labels.classes.counts() == {3: 2, 1: 1}
    flags = LeafTally()
    flags.add_array(np.array([[True, False], [True, True]]))
    assert flags.classes.counts() == {True: 3, False: 1}


def test_lengths_are_added():
    tally = LeafTally()
    tally.add_lengths([3, 5])
    tally.add_lengths(1)
    assert (tally.lengths.low, tally.lengths.high, tally.lengths.count) == (1, 5, 3)

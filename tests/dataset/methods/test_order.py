"""Wrong counts in the calls that order elements are refused by name, argument and value."""

from __future__ import annotations

import pytest

from penstock import Dataset

DS = Dataset.range(5)
CALLS = [
    (DS.shuffle, "buffer_size", 0),
    (DS.repeat, "count", -2),
    (DS.take, "count", -2),
    (DS.skip, "count", -2),
    (DS.batch, "batch_size", 0),
    (DS.prefetch, "buffer_size", -2),
]


@pytest.mark.parametrize(("call", "name", "low"), CALLS)
def test_counts_below_the_minimum_are_refused(call, name, low):
    with pytest.raises(ValueError, match=rf"^{call.__name__}\({name}={low}\): expected at least"):
        call(low)


@pytest.mark.parametrize(("call", "name", "_"), CALLS)
@pytest.mark.parametrize("value", ["3", 1.0, True, [1]])
def test_values_that_are_no_counts_are_refused(call, name, _, value):
    with pytest.raises(TypeError, match=rf"^{call.__name__}\({name}=.*expected a whole number, not "):
        call(value)


def test_flags_are_refused_as_counts():
    with pytest.raises(TypeError, match=r"shuffle\(reshuffle_each_iteration=3\)"):
        DS.shuffle(5, 0, 3)
    with pytest.raises(TypeError, match=r"batch\(drop_remainder=4\)"):
        DS.batch(32, 4)


def test_invalid_seeds_are_refused():
    with pytest.raises(ValueError, match=r"shuffle\(seed=-1\)"):
        DS.shuffle(seed=-1)
    with pytest.raises(TypeError, match=r"shuffle\(seed=1.5\)"):
        DS.shuffle(seed=1.5)

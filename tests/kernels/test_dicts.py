"""Dicts are taken apart as plain Python does it."""

from __future__ import annotations

import sys
from collections import OrderedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernels.dicts import take_dicts_apart
from penstock.kernels.reference import dicts as reference

KEYS = st.sampled_from(["a", "b", "c", 1, (2, 3), None])


@given(data=st.data(), keys=st.lists(KEYS, unique=True, max_size=4))
def test_results_equal_those_of_the_plain_twin(data, keys):
    alike = st.permutations(keys).map(lambda order: {key: object() for key in order})
    dicts = data.draw(st.lists(st.one_of(alike, alike, alike, st.dictionaries(KEYS, st.integers())), max_size=6))
    assert take_dicts_apart(dicts, keys) == reference.take_dicts_apart(dicts, keys)


@pytest.mark.parametrize("other", [OrderedDict(x=1), [("x", 1)], None, {"y": 1}, {}, {"x": 1, "y": 2}])
def test_other_values_are_not_converted(other):
    assert take_dicts_apart([{"x": 1}, other], ["x"]) is None


def test_an_error_of_a_key_is_raised():
    with pytest.raises(TypeError, match="unhashable"):
        take_dicts_apart([{"x": 1}], [[]])


def test_each_value_gains_one_reference():
    value = object()
    before = sys.getrefcount(value)
    columns = take_dicts_apart([{"x": value, "y": 1}] * 10, ["x", "y"])
    assert sys.getrefcount(value) == before + 10
    assert columns == [[value] * 10, [1] * 10]
    del columns
    assert take_dicts_apart([{"x": value}, {"y": value}], ["x"]) is None
    assert sys.getrefcount(value) == before

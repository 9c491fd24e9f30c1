from __future__ import annotations

import random
from random import gauss

import numpy as np
import pytest

from penstock import Dataset


def codes(ds):
    return [finding.code for finding in ds.check().findings]


def through_a_helper(x):
    def inner():
        return random.random()

    return x + inner()


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x + np.random.rand(),
        lambda x: x + random.randint(0, 3),
        lambda x: x + gauss(0, 1),
        through_a_helper,
    ],
)
def test_drawing_from_a_shared_generator_is_found(function):
    ds = Dataset.range(4).map(function)
    assert codes(ds) == ["PS401"]
    assert "rng" in str(ds.check().findings[0])
    assert codes(ds.map(lambda x: x)) == ["PS401"]  # of this function alone
    assert codes(Dataset.range(4).filter(lambda x: function(x) > -100)) == []  # hidden in another function


GENERATOR = np.random.default_rng(0)


@pytest.mark.parametrize(
    "function",
    [
        lambda x, rng: x + rng.random(),
        lambda x: x + GENERATOR.random(),
        lambda x: np.random.default_rng(int(x)).random(),
    ],
)
def test_a_separate_generator_is_fine(function):
    assert codes(Dataset.range(4).map(function)) == []


def added(x):
    x += 1
    return x


def scaled(d):
    d["x"] /= 255
    return d


def replaced(d):
    d["x"] = d["x"] / 255
    return d


def summed(x):
    total = 0
    for each in x:
        total += each
    return total


def test_calls_of_an_argument_and_deleted_keys_are_no_in_place_operators():
    def called(x):
        return x(1, key=x)

    def without_a_key(x):
        del x["a"]
        return x

    rows = Dataset.from_source([{"a": np.zeros(2), "b": 2}])
    assert codes(rows.map(called)) == codes(rows.map(without_a_key)) == []


def test_in_place_operators_on_arrays_are_found():
    arrays = Dataset.from_tensor_slices(np.zeros((4, 2)))
    dicts = Dataset.from_source([{"x": 1.0}])
    assert codes(arrays.map(lambda x: x * 2).map(added)) == ["PS402"]
    assert codes(dicts.map(scaled)) == ["PS402"]
    assert codes(Dataset.range(4).map(added)) == []
    assert codes(dicts.map(replaced)) == []
    assert codes(arrays.map(summed)) == []

from __future__ import annotations

import pickle

import numpy as np
import pytest

from penstock import Dataset
from penstock.plan.functions import name_of
from penstock.testing import functions
from penstock.testing.laws import same

ELEMENTS = [
    np.int64(3),
    4,
    "text",
    b"bytes",
    np.arange(6, dtype=np.uint8).reshape(2, 3),
    {"z": 1.5, "a": (np.float32(2), "b")},
    functions.Pair(1, 2),
    functions.Labelled(np.ones(2), None),
]


@pytest.mark.parametrize("function", functions.ELEMENTWISE, ids=name_of)
@pytest.mark.parametrize("element", ELEMENTS, ids=repr)
def test_functions_are_pure_and_can_be_pickled(function, element):
    before = pickle.dumps(element)
    made = function(element)
    assert made is not None
    assert same(pickle.loads(pickle.dumps(function))(pickle.loads(before)), made)
    assert pickle.dumps(element) == before


@pytest.mark.parametrize("function", functions.IN_PLACE, ids=lambda f: f.__name__)
def test_writing_functions_change_dicts_and_lists(function):
    element = {"x": [1, {"y": 2}], "z": (3, [4])}
    made = function(element)
    assert made is element
    assert made["x"][0] == (2 if function is functions.written else 1)
    assert ("grown" in made["x"][1]) == (function is functions.grown)
    assert made["z"] == ((4, [5]) if function is functions.written else (3, [4, 1]))
    assert pickle.loads(pickle.dumps(function)) is function


@pytest.mark.parametrize("function", [*functions.ARITHMETIC, functions.inverted, functions.is_low])
def test_arithmetic_is_traced(function):
    ds = Dataset.range(3).map(function)
    assert "trace_map" in ds.explain()
    assert same(list(ds), [function(x) for x in range(3)])


@pytest.mark.parametrize("function", functions.RANDOM, ids=lambda f: f.__name__)
def test_random_functions_draw_from_the_given_generator(function):
    drawn = [function(np.float64(1), rng=np.random.default_rng(seed)) for seed in (0, 0, 1)]
    assert same(drawn[0], drawn[1])
    assert not same(drawn[0], drawn[2])


@pytest.mark.parametrize("function", functions.VECTORIZED, ids=lambda f: f.__name__)
def test_columns_keep_their_rows(function):
    columns = {"x": np.arange(6.0).reshape(3, 2), "text": np.array(["a", "b", "c"], object)}
    leaves = functions.flatten(function(columns))[0]
    assert [len(leaf) for leaf in leaves] == [3] * len(leaves)


def test_windows_become_texts():
    windows = {"x": Dataset.range(1, 3), "y": (Dataset.from_tensors(np.arange(2)), Dataset.range(0))}
    assert functions.as_windows(windows) == {"x": "1; 2", "y": ("[0 1]", "")}

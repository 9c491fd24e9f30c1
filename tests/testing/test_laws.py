from __future__ import annotations

import itertools
import random
from dataclasses import dataclass

import numpy as np
import pytest

import penstock as ps
from penstock.testing.laws import difference, is_ordered, multiset, same, verify_determinism, verify_resume

D = ps.Dataset


@dataclass
class Point:
    x: object
    y: object


ALIKE = [
    1,
    -0.0,
    float("nan"),
    np.float32("nan"),
    "a",
    b"a",
    None,
    {"b": np.arange(3), "a": (1, [2])},
    Point(np.zeros((2, 0)), "z"),
    np.array(["x", b"y", None], object),
    np.array(["2026-11-20"], "datetime64[D]"),
    (),
]


@pytest.mark.parametrize("element", ALIKE, ids=repr)
def test_an_element_is_the_same_as_itself(element):
    assert same(element, element)
    assert multiset([element]) == multiset([element])


@pytest.mark.parametrize(
    ("one", "other", "says"),
    [
        (1, True, "int 1 against bool True"),
        (1, np.int64(1), "int 1 against int64"),
        (0.0, -0.0, "0.0 against -0.0"),
        (np.float64(0.0), np.float64(-0.0), "float64 0.0 against float64 -0.0"),
        (np.zeros(2), np.zeros(2, np.float32), "float64[2] against float32[2]"),
        (np.zeros((2, 1)), np.zeros((1, 2)), "float64[2, 1] against float64[1, 2]"),
        (np.array([1, 2]), np.array([1, 3]), "2 against 3 at [1]"),
        (np.array([None, "a"]), np.array([None, "b"]), "'a' against 'b'"),
        ({"x": 1}, {"y": 1}, 'structure {"x": *} against {"y": *}'),
        ({"x": 1, "y": 2}, {"y": 2, "x": 1}, "structure"),
        ((1, 2), [1, 2], "structure (*, *) against [*, *]"),
        ({"x": (1, "a")}, {"x": (1, "b")}, """at ["x"][1]: 'a' against 'b'"""),
        (Point(1, 2), Point(1, 3), "at .y: 2 against 3"),
        ("a", b"a", "str 'a' against bytes b'a'"),
    ],
)
def test_differences_are_named(one, other, says):
    assert says in difference(one, other)
    assert not same(other, one)
    assert multiset([one]) != multiset([other])


def test_a_pipeline_that_keeps_its_word_passes():
    ds = D.range(20).shuffle().map(lambda x, *, rng: (x, rng.random())).batch(3)
    verify_determinism(ds)
    verify_determinism(ds, epoch=2)
    verify_resume(ds)
    verify_resume(ds, epoch=2, options=ps.Options(executor="threads", workers=2))
    verify_determinism(D.counter().map(float), most=10)
    verify_resume(D.counter().map(float), most=10)
    verify_determinism(D.range(0))
    verify_resume(D.range(0))


def test_a_function_with_a_state_of_its_own_does_not():
    count = itertools.count()
    with pytest.raises(AssertionError, match="element 0 of epoch 0 differs a second time: 0 against 7"):
        verify_determinism(D.range(7).map(lambda x: x + next(count) // 7 * 7))


@pytest.mark.parametrize("verify", [verify_determinism, verify_resume])
def test_a_function_with_a_random_generator_of_its_own_does_not(verify):
    generator = random.Random(0)
    with pytest.raises(AssertionError, match="epoch 0 differs"):
        verify(D.range(7).map(lambda x: x + generator.random()))


def test_what_depends_on_neighbours_is_found():
    def centred(column):
        return column - column.mean()  # of whatever happened to be made together

    with pytest.raises(AssertionError, match="differs made alone"):
        verify_determinism(D.range(64).map(centred, vectorized=True), ways=[])


def test_where_order_is_loose_it_does_not_count():
    ds = D.range(50).map(lambda x: x, num_parallel_calls=2, deterministic=False)
    assert not is_ordered(ds)
    assert is_ordered(D.range(3))
    verify_determinism(ds)
    verify_resume(ds)
    with pytest.raises(ValueError, match=r"take\(\)"):
        verify_resume(ds.repeat())
    count = itertools.count()
    with pytest.raises(AssertionError, match="epoch 0 has other elements"):
        verify_determinism(ds.map(lambda x: next(count)))

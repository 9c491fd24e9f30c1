from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from penstock.testing.alike import MISSING, difference, multiset, same, text_of


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


def test_a_missing_element_differs_from_any():
    assert difference(MISSING, 3) == "one ended, and the other had 3"
    assert difference(3, MISSING) == "one ended, and the other had 3"


def test_the_text_of_an_element_is_unique():
    assert text_of({"x": np.float32([0.1])}) == text_of({"x": np.float32([0.1])})
    assert len({text_of(one) for one in (1, True, 1.0, np.int64(1), np.int32(1), "1", b"1", [1], (1,), None)}) == 10


def test_comparison_without_order_still_counts_elements():
    assert multiset([1, 2, 2]) == multiset([2, 1, 2]) != multiset([1, 2])

"""Keys that distinguish elements."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pytest

from penstock.core.errors import ElementError
from penstock.elements.distinct import distinct


class Pair(NamedTuple):
    a: Any
    b: Any


@dataclass
class Record:
    a: Any


ALL_DIFFERENT = [
    *(0, 1, -1, 2**70, 0.0, 1.0, 1.5, True, False, None, "", "a", "1", b"", b"a", b"1", 1j, "x" * 100, "y" * 100),
    *("x" * 101, b"x" * 100, b"x" * 101, np.int32(1), np.uint8(1), np.float32(1), np.uint64(2**63)),
    *(np.zeros(0), np.zeros((0, 2)), np.zeros(3), np.zeros((3, 1)), np.zeros(3, np.float32), np.arange(100)),
    *(np.arange(100).reshape(10, 10), np.arange(1, 101), np.array(["a"]), np.array([b"a"]), np.array("2020", "M8[D]")),
    *(np.array([1, "a"], object), np.array([1, "b"], object), np.array([(1, 2.0)], [("x", "i4"), ("y", "f8")])),
    *((), [], {}, (1,), [1], (1, 1), {"a": 1}, {"b": 1}, {"a": 1, "b": 1}, {"a": (1,)}, (1, (2,)), ((1,), 2)),
    *(Pair(1, 2), (1, 2), Record(1), (None, 1), (1, None), Fraction(1, 2), (Fraction(1, 2),), frozenset([1])),
    *(np.longdouble(1), np.longdouble(2), ("a", "bc"), ("ab", "c"), "\ud800"),
]

EQUAL = [
    (3, np.int64(3), np.array(3), np.array(3, ">i8")),
    (0.5, np.float64(0.5), np.array(0.5)),
    (0.0, -0.0, np.float64(-0.0)),
    (float("nan"), -float("nan"), np.array(0x7FF8000000000001, np.uint64).view(np.float64)),
    (complex(0.0, float("nan")), complex(-0.0, -float("nan"))),
    (True, np.bool_(True)),
    ("text", np.str_("text")),
    (b"x" * 70, np.bytes_(b"x" * 70)),
    (np.array([1.0, np.nan, 0.0]), np.array([1.0, np.nan, -0.0], ">f8"), np.array([1, 9, np.nan, 9, 0, 9.0])[::2]),
    (np.arange(6).reshape(2, 3), np.asfortranarray(np.arange(6).reshape(2, 3))),
    ({"a": 1, "b": np.ones(2)}, {"b": np.ones(2), "a": np.int64(1)}),
    ((Fraction(1, 2), 1), (Fraction(2, 4), 1)),
    (np.longdouble("nan"), np.longdouble("nan")),
    (np.longdouble(0.0), np.longdouble(-0.0)),
]


def test_different_elements_differ():
    keys = [distinct(element) for element in ALL_DIFFERENT]
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize("elements", EQUAL, ids=repr)
def test_equal_elements_are_equal_and_hash_alike(elements):
    keys = [distinct(element) for element in elements]
    assert len(set(keys)) == 1


def test_the_key_of_a_large_element_is_small():
    for element in ("x" * 10_000, b"x" * 10_000, np.zeros(10_000), {"a": [np.zeros(9), *range(1000)]}):
        assert len(repr(distinct(element))) < 10_000


@pytest.mark.parametrize("element", [object(), (1, object()), np.array([object()])])
def test_objects_that_only_equal_themselves_are_refused(element):
    with pytest.raises(ElementError, match="only equals itself; pass a key_func="):
        distinct(element)


def test_unhashable_objects_are_refused():
    with pytest.raises(ElementError, match="a set cannot be hashed; pass a key_func="):
        distinct({1, 2})

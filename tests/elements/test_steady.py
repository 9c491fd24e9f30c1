"""Values that are carried from element to element, and what of them becomes of another type."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

import penstock as ps
from penstock.elements.steady import change_of


class Pair(NamedTuple):
    a: float
    b: float


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (0, 7),
        (0, np.int64(7)),
        (np.int64(0), 7),
        (0.0, np.float64(1)),
        (True, np.False_),
        ("", "text"),
        (None, np.zeros(3)),
        ([], [1, 2]),
        ({"a": 0, "b": ()}, {"b": (), "a": 1}),
        (Pair(1, 2.0), Pair(3, 4.0)),
        (np.zeros(3), np.zeros(5)),
        (np.str_("a"), np.str_("longer")),
        (ps.Ragged.from_rows([[1]]), ps.Ragged.from_rows([[1], [2]])),
    ],
)
def test_unchanged_types_are_accepted(before, after):
    assert change_of(before, after) == ""


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (0, 0.5, "it was int64 and became float64"),
        (0, np.int32(1), "it was int64 and became int32"),
        (0.0, np.float32(1), "it was float64 and became float32"),
        (0, "text", "it was int64 and became str"),
        (0, None, "it was int64 and became NoneType"),
        (0, [1], "it was int64 and became list"),
        ([], (), "it was list and became tuple"),
        ((1, 2), [1, 2], "it was tuple and became list"),
        ((1, 2), (1,), "it had [0, 1] and has [0]"),
        (np.zeros(3), np.zeros((3, 1)), "it was float64[?] and became float64[?, ?]"),
        ({"a": (0, {"b": 1})}, {"a": (0, {"b": 1.0})}, "['a'][1]['b'] was int64 and became float64"),
        ({"a": {"b": 1}}, {"a": {"c": 1}}, "['a'] had ['b'] and has ['c']"),
        (Pair(1, 2), (1, 2), "it was Pair and became tuple"),
    ],
)
def test_a_change_of_type_is_described(before, after, told):
    assert change_of(before, after) == told

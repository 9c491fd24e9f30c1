"""One line about an element."""

from __future__ import annotations

import numpy as np
import pytest

from penstock import Ragged, Sparse
from penstock.dryrun.summary import summary


@pytest.mark.parametrize(
    ("element", "wanted"),
    [
        (3, "3"),
        (np.float32(0.5), "0.5"),
        (np.arange(6), "[0, 1, 2, 3, 4, 5]"),
        (np.ma.array([1, 2, 3], mask=[0, 1, 0]), "[1, --, 3]"),
        (np.ma.array([1.5, 2, 1 / 3], mask=[0, 1, 0]), "[1.5, --, 0.333333]"),
        (np.ma.masked, "--"),
        (np.ma.array(["a", "b"], mask=[1, 0]), "[--, 'b']"),
        (np.arange(7), "0 to 6, mean 3"),
        (np.zeros((4, 4), np.uint8), "all 0"),
        (np.array([np.nan, 1, 2, 3, 4, 5, np.inf]), "1 to 5, mean 3, 2 not finite"),
        (np.full(9, np.nan), "no finite value"),
        (np.arange(9) > 3, "5 of 9 true"),
        (np.zeros((0, 3)), "[]"),
        (np.array(["a"] * 9), "'a', 'a', 'a', 'a', 'a', 'a', … (9 values)"),
        ("x" * 100, "'xxxxxxxxxxxxxxxx'… (100 characters)"),
        ({"a": 1, "b": (2, "t")}, '{"a": 1, "b": (2, \'t\')}'),
        ((), "()"),
        ((0,) * 30, "tuple of 30 leaves, the first 0"),
        ([0] * 30, "all 0"),
        ({"ids": [3, 4], "none": None, "boxes": []}, '{"ids": [3, 4], "none": None, "boxes": []}'),
        (["a", "b"], "['a', 'b']"),
        ([{"x": 1}] * 9, "[{'x': 1}, {'x': 1}, {'x': 1}, … (9 values)]"),
        (np.datetime64("NaT", "s"), "NaT"),
        (np.timedelta64(5, "s"), "5 seconds"),
        (np.float32(0.25), "0.25"),
        (Ragged.from_lists([[1, 2], [3]]) if hasattr(Ragged, "from_lists") else 1, None),
        (Sparse([[0], [2]], [5, 6], [4]), "2 values, [5, 6]"),
    ],
)
def test_values_are_short_and_tell_the_most(element, wanted):
    assert len(summary(element)) < 100
    assert wanted is None or summary(element) == wanted


def test_an_object_is_its_representation_in_one_line():
    class Odd:
        def __repr__(self):
            return "<\n odd >"

    assert summary(Odd()) == "< odd >"


def test_an_object_whose_text_cannot_be_made_is_told_by_its_type():
    class Bad:
        def __repr__(self):
            raise RuntimeError("no text")

    assert summary(Bad()) == "<Bad>"
    assert summary({"a": Bad(), "b": [Bad()], "c": 3}) == '{"a": <Bad>, "b": [<Bad>], "c": 3}'
    assert summary(tuple(Bad() for _ in range(20))) == "tuple of 20 leaves, the first <Bad>"

"""Elements several times over."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.elements.chunks.chunk import Columns, Items
from penstock.elements.chunks.variants import variants
from penstock.elements.nested.structure import LEAF, flatten

WHICH = np.array([1, 0, 1, 1])


@pytest.mark.parametrize(
    "chunk",
    [
        Items([{"x": np.zeros(2), "name": "a"}, {"x": np.ones(2), "name": "b"}]),
        Columns(flatten({"x": 0, "name": 0})[1], [["a", "b"], np.array([[0.0, 0], [1, 1]])], 2),
        Columns(flatten({"x": 0, "name": 0})[1], [["a", "b"], [np.zeros(2), np.ones(2)]], 2),
    ],
    ids=["items", "columns", "lists"],
)
def test_writing_into_one_changes_no_other(chunk):
    made = variants(chunk, WHICH)
    assert type(made) is type(chunk)
    elements = made.elements()
    assert [element["name"] for element in elements] == ["b", "a", "b", "b"]
    elements[0]["x"] += 5
    assert [element["x"].tolist() for element in elements] == [[6, 6], [0, 0], [1, 1], [1, 1]]


def test_numbers_and_other_objects_are_shared():
    thing = object()
    assert variants(Items([thing, 3]), np.array([0, 0, 1])).elements() == [thing, thing, 3]
    assert variants(Columns(LEAF, [np.arange(3)], 3), np.array([2, 2])).elements() == [2, 2]

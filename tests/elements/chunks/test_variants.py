"""Elements several times over."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.elements.chunks.chunk import Columns, Items
from penstock.elements.chunks.variants import variants, writeable
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


@pytest.mark.parametrize("made", [Columns(LEAF, [np.broadcast_to(0, (1, 2))], 1), Items([np.broadcast_to(0, 2)])])
def test_writeable_copies_what_is_read_only(made):
    writeable(made).element(0)[:] = 1
    assert made.element(0).tolist() == [0, 0]


@pytest.mark.parametrize("made", [Columns(LEAF, [np.zeros((1, 2))], 1), Items([{"x": np.zeros(2)}])])
def test_writeable_shares_what_can_be_written_to(made):
    (before,), (after,) = flatten(made.element(0))[0], flatten(writeable(made).element(0))[0]
    assert np.shares_memory(before, after)

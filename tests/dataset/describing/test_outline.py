"""The parts of single elements."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest

import penstock as ps
from penstock.dataset.describing import outline as module
from penstock.dataset.describing.outline import ElementOutline, Outlining, Tallies, parts_in


def tallies_of(*elements):
    tallies = Tallies()
    for element in elements:
        tallies.add(ElementOutline(list(parts_in(element))))
    for tally in tallies.leaves.values():
        tally.settle()
    return tallies


class Pair(NamedTuple):
    left: int
    right: str


@dataclass
class Example:
    image: np.ndarray
    name: str


@pytest.mark.parametrize(
    ("element", "leaves"),
    [
        (3, {"": 1}),
        (None, {"": 0}),
        ({}, {}),
        ({"a": 1, "b": None}, {'["a"]': 1, '["b"]': 0}),
        ((1, ("x", 2.0)), {"[0]": 1, "[1][0]": 1, "[1][1]": 1}),
        (Pair(1, "x"), {".left": 1, ".right": 1}),
        (Example(np.zeros(3), "x"), {".image": 1, ".name": 1}),
        ([1, 2, None], {"": 1, "[*]": 2}),
        ([], {"": 1}),
        ({"boxes": [{"x": 1}, {"x": 2, "y": 3}]}, {'["boxes"]': 1, '["boxes"][*]["x"]': 2, '["boxes"][*]["y"]': 1}),
        (np.array(["a", "bc"]), {"": 1, "[*]": 2}),
        (np.array([b"a"], object), {"": 1, "[*]": 1}),
        (np.array("a"), {"": 1}),
        (np.array([np.zeros(2), None, "x"], object), {"": 1, "[*]": 2}),
        (np.zeros(2, [("x", "f4"), ("y", "i4", (3,))]), {'["x"]': 1, '["y"]': 1}),
        (ps.Ragged.from_rows([[1], [2, 3]]), {"": 1}),
        (ps.Ragged.from_rows([["a"], ["b", "c"]]), {"": 1, "[*]": 3}),
        (ps.Sparse([[0, 1]], [5], (2, 3)), {"": 1}),
        (object(), {"": 1}),
        (np.float32(3), {"": 1}),
    ],
)
def test_every_kind_of_element_has_its_leaves(element, leaves):
    tallies = tallies_of(element)
    assert {path: tally.count for path, tally in tallies.leaves.items() if not tally.nested} == leaves
    assert tallies.elements == 1


def test_ragged_and_sparse_leaves_have_lengths_and_values():
    tallies = tallies_of({"r": ps.Ragged.from_rows([[1], [2, 3]]), "s": ps.Sparse([[0, 1], [1, 2]], [5, 7], (2, 3))})
    ragged, sparse = tallies.leaves['["r"]'], tallies.leaves['["s"]']
    assert (ragged.lengths.low, ragged.lengths.high, ragged.whole.total) == (1, 2, 6)
    assert (sparse.lengths.low, sparse.whole.total) == (2, 12)
    assert "sparse" in dict(sparse.forms.texts()).popitem()[0]


def test_array_likes_are_arrays_and_those_that_fail_are_objects():
    class Image:
        def __array__(self, dtype=None, copy=None):
            return np.zeros((4, 5), np.uint8)

    class Broken:
        def __array__(self, dtype=None, copy=None):
            raise OSError("gone")

    assert dict(tallies_of(Image()).leaves[""].forms.texts()) == {"uint8[4, 5]": 1}
    assert dict(tallies_of(Broken()).leaves[""].forms.texts()) == {"Broken": 1}


def test_paths_are_bounded(monkeypatch):
    monkeypatch.setattr(module, "MOST_PATHS", 3)
    tallies = tallies_of(*({f"key{number}": number} for number in range(9)))
    assert (len(tallies.leaves), tallies.left_out, tallies.elements) == (3, True, 9)
    assert Tallies.of_state(tallies.state()).left_out


def test_outlines_travel():
    made = Outlining().run([{"x": np.arange(3)}, {"x": 2}], np.arange(2), None)
    again = [pickle.loads(pickle.dumps(each)) for each in made]
    assert [path for each in again for path, _ in each.parts] == ['["x"]', '["x"]']
    assert [*again[0].parts[0][1]] == [0, 1, 2]
    assert repr(Outlining()) == "describe"
    assert repr(Outlining().spec(None)) == "ElementOutline"

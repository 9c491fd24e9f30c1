"""The parts of an element as people look at them."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.elements.nested.structure import describe_structure, flatten
from penstock.elements.nested.whole import shown_parts


@pytest.mark.parametrize(
    ("given", "part"),
    [
        ([1, 2.5, True], np.array([1, 2.5, 1])),
        ([[1, 2], [3, 4]], np.array([[1, 2], [3, 4]])),
        ([np.int64(3)], np.array([3])),
        ([[1], [2, 3]], [[1], [2, 3]]),
        (["a", "b"], ["a", "b"]),
        ([1, "b"], [1, "b"]),
        ([{"x": 1}, {"x": None}], [{"x": 1}, {"x": None}]),
        ([2**70, 1], [2**70, 1]),
        ([], []),
        (None, None),
    ],
)
def test_a_list_of_plain_values_is_one_part(given, part):
    (found,) = shown_parts({"a": given}).values()
    assert type(found) is type(part)
    np.testing.assert_equal(found, part)


def test_lists_of_arrays_and_files_are_taken_apart():
    assert [*shown_parts({"a": [np.zeros(2), b"file"], "b": ([1, 2], 3)})] == [
        '["a"][0]',
        '["a"][1]',
        '["b"][0]',
        '["b"][1]',
    ]


def test_equal_items_of_a_long_list_are_told_once():
    assert describe_structure(flatten([[0] * 1000, [0] * 8])[1]) == "[[1,000 × *], [*, *, *, *, *, *, *, *]]"
    leaves, structure = flatten([0] * 9)
    assert describe_structure(structure, map(str, [*leaves[:8], 1])) == "[0, 0, 0, 0, 0, 0, 0, 0, 1]"

"""Elements as lines of text."""

from __future__ import annotations

import numpy as np

from penstock.watch.sheet.text import MOST_CHARACTERS, element_text, leaf_text


def test_small_leaves_are_shown_and_large_ones_described():
    element = {"a": 1, "b": "x\ny", "c": np.arange(3), "d": np.arange(90).reshape(9, 10), "e": b"\xff" * 99}
    assert element_text(element) == "a 1 · b x y · c [0 1 2] · d int64[9, 10] 0…89 · e " + "\ufffd" * 40 + "…"
    assert element_text({}) == "{}"
    assert element_text({"a": {"b": None, "c": []}, "d": 1}) == '["a"]["b"] None · ["a"]["c"] [] · d 1'
    assert element_text((1, 2.5)) == "[0] 1 · [1] 2.5"
    assert element_text(3) == "3"


def test_a_list_of_plain_values_is_one_part():
    element = {"ids": [*range(99)], "boxes": [{"x": 1}] * 9, "few": [1, 2], "names": ["a", "b"], "odd": [[1], [2, 3]]}
    assert element_text(element) == (
        "boxes list[9] · few [1 2] · ids int64[99] 0…98 · names ['a', 'b'] · odd [[1], [2, 3]]"
    )
    assert element_text([np.arange(2), 3]) == "[0] [0 1] · [1] 3"


def test_arrays_of_any_kind_are_described():
    assert leaf_text(np.zeros(0)) == "[]"
    assert leaf_text(np.zeros((3, 0, 4))) == "float64[3, 0, 4]"
    assert leaf_text(np.full((9, 9), np.nan)) == "float64[9, 9] nan…nan"
    assert leaf_text(np.ones((9, 9), bool)) == "bool[9, 9] 1…1"
    assert leaf_text(np.array(["x"] * 20)) == "<U1[20]"
    assert leaf_text(np.zeros((9, 9), complex)) == "complex128[9, 9]"


def test_a_line_is_never_long():
    assert len(element_text({f"key {at}": "x" * 60 for at in range(50)})) == MOST_CHARACTERS + 1

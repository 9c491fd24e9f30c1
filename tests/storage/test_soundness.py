"""Requirements on the arrays of an index."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.storage import soundness
from penstock.storage.soundness import are_in_order, are_offsets, are_within, has_form, is_sorted

LOW, HIGH = -(1 << 63), (1 << 63) - 1


def of(*numbers):
    return {"a": np.array(numbers, np.int64)}


def test_a_form_is_names_dtype_and_shape():
    arrays = {"a": np.zeros((3, 2), np.int64), "b": np.zeros(0, np.int64)}
    assert has_form(arrays, np.int64, {"a": (None, 2), "b": (None,)})
    assert has_form(arrays, np.int64, {"a": (3, 2)})
    for shapes in ({"a": (None,)}, {"a": (None, 3)}, {"a": (None, 2, None)}, {"b": ()}, {"c": (None,)}):
        assert not has_form(arrays, np.int64, shapes)
    assert not has_form(arrays, np.int32, {"a": (None, 2)})
    assert not has_form({"a": np.zeros(3, ">i8")}, np.int64, {"a": (None,)})


def test_offsets_are_at_least_one_from_0_to_the_most():
    assert are_offsets(of(0), 0, "a")
    assert are_offsets(of(3, 3, 9), 9, "a")
    for numbers in ((), (0, 10), (-1, 9), (0, 5, 4), (LOW, 0), (0, HIGH), (HIGH, LOW)):
        assert not are_offsets(of(*numbers), 9, "a")
    assert not are_offsets(of(0), 9, "a", "b")
    assert not are_offsets({"a": np.zeros((2, 2), np.int64)}, 9, "a")
    assert is_sorted(of(), 9, "a")


@pytest.mark.parametrize("count", [0, 1, 2, 9, 10, 11, 20, 21])
def test_every_decrease_is_found(monkeypatch, count):
    monkeypatch.setattr(soundness, "_AT_ONCE", 10)
    sound = np.arange(count)
    assert is_sorted({"a": sound}, count, "a")
    assert are_in_order(sound, sound)
    for at in range(1, count):
        wrong = sound.copy()
        wrong[at] = wrong[at - 1] - 1
        assert not is_sorted({"a": wrong}, count, "a")
        assert not are_in_order(sound, wrong)
        assert are_in_order(sound, sound + 1, strictly=True)
        assert not are_in_order(sound, np.where(sound == at, at, sound + 1), strictly=True)


def test_numbers_outside_the_range_are_found():
    assert are_within(np.array([0, 5]), 5)
    assert are_within(np.zeros(0, np.int64), -1)
    for numbers in ([0, 6], [-1, 5], [LOW, HIGH]):
        assert not are_within(np.array(numbers), 5)

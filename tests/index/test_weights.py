"""Weights: conversion to integers, and refused values."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.index.weights import Asked, Steady, Stepped, check_weights, weights_text, whole_weights


@given(weights=st.lists(st.floats(0, 1e300), min_size=1, max_size=20).filter(any))
def test_whole_numbers_keep_the_proportions(weights):
    made = whole_weights(weights)
    shares = np.array(weights) / max(weights)
    assert np.abs(made / made.sum() - shares / shares.sum()).max() < 1e-7
    assert ((made > 0) == (np.array(weights) > 0)).all()
    assert made.sum() < 1 << 31


def test_whole_numbers_stay_as_they_are_and_proportions_count():
    assert whole_weights([3, 0, 1]).tolist() == [3, 0, 1]
    assert whole_weights([0.75, 0.25]).tolist() == [3 << 28, 1 << 28]
    assert whole_weights([1 << 40, 1 << 40]).tolist() == [1 << 29, 1 << 29]
    assert whole_weights([5e-324, 1.7e308]).tolist() == [1, 1 << 30]


def test_weights_of_a_step_apply_from_its_slot_on():
    steps = Stepped(((0, (1.0, 0.0)), (10, (1.0, 3.0))))
    seen = [steps.at(slot) for slot in (0, 9, 10, 10**9)]
    assert [(weights.tolist(), change) for weights, change in seen] == [
        ([1, 0], 10),
        ([1, 0], 10),
        ([1, 3], None),
        ([1, 3], None),
    ]
    assert str(steps) == "{0: [1, 0], 10: [1, 3]}"


def test_a_function_of_weights_is_called_at_every_1024th_slot():
    asked = []

    def weights(slot):
        asked.append(slot)
        return [1, slot]

    assert (Asked(weights, 2).at(2500)[0].tolist(), Asked(weights, 2).at(2500)[1]) == ([1, 2048], 3072)
    assert set(asked) == {2048, 3072}


def test_equal_weights_of_a_function_continue_one_segment():
    def weights(slot):
        return [1, 0] if slot < 10_000 else np.array([0.5, 0.5])

    assert Asked(weights, 2).at(0)[1] == 10_240
    assert Asked(weights, 2).at(10_240)[1] == 10_240 + 1024 * 1024


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1], r"expected 2 weights, one for each dataset, not 1"),
        ([1, -1], "numbers of at least 0"),
        ([1, float("nan")], "numbers of at least 0"),
        ([1, float("inf")], "numbers of at least 0"),
        ([0, 0], "at least one weight must be above 0"),
    ],
)
def test_wrong_weights_are_named(weights, message):
    with pytest.raises(ValueError, match=message):
        check_weights(weights, 2, "weights=")
    with pytest.raises(ValueError, match=r"weights\(0\) returned .*" + message):
        Asked(lambda slot: weights, 2).at(0)
    with pytest.raises(TypeError, match="expected 2 numbers, one for each dataset"):
        check_weights(3, 2, "weights=")


def test_weights_are_shown_as_written():
    assert (weights_text((0.5, 2.0)), str(Steady((1 / 3, 1.0)))) == ("[0.5, 2]", "[0.333333333333, 1]")


def test_every_nth_slot_has_the_weights_that_it_had():
    weights = [Steady((1.0, 2.0)), Stepped(((0, (1.0, 0.0)), (5, (0.0, 1.0)), (6, (1.0, 1.0)), (9, (2.0, 1.0))))]
    for each in [*weights, Asked(lambda slot: (slot + 1, 1), 2)]:
        for step in (1, 2, 3):
            for slot in (0, 1, 2, 3, 4, 1024, 2048):
                assert each.thinned(step).at(slot)[0].tolist() == each.at(slot * step)[0].tolist()

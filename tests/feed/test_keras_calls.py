"""Arguments of Keras' calls, read from the stack; with functions that stand in for those of Keras."""

from __future__ import annotations

import pytest

import penstock as ps
from penstock.core.errors import PlanError
from penstock.feed.keras_calls import arguments_given, batch_trained, forget_length, refuse_ignored

PLACES = {"__init__": "trainers.epoch_iterator", "on_train_batch_end": "callbacks.callback_list"}


def within(name, parameters, function, *args):
    """Call `function` inside a function of Keras' with this name and these parameters."""
    names = {"__name__": f"keras.src.{PLACES.get(name, 'trainers.epoch_iterator')}"}
    exec(f"def {name}(function, {parameters}): return function()", names)
    return names[name](function, *args)


def test_arguments_are_those_of_the_call_under_way():
    assert arguments_given() is None
    assert within("__init__", "y, class_weight", arguments_given, 1, {0: 2.0})["class_weight"] == {0: 2.0}
    assert within("elsewhere", "y", arguments_given, 1) is None


def test_the_batch_is_the_one_that_callbacks_are_told_of():
    assert batch_trained() is None
    assert within("on_train_batch_end", "batch", batch_trained, 7) == 7


def test_a_length_is_forgotten_at_the_end_of_an_epoch_only():
    class EpochIterator:
        _num_batches = 3

    made = EpochIterator()
    within("elsewhere", "self", forget_length, made)
    assert made._num_batches == 3
    within("catch_stop_iteration", "self", forget_length, made)
    assert made._num_batches is None


@pytest.mark.parametrize(
    ("given", "length", "message"),
    [
        ({"y": [1]}, 3, "y= has no effect"),
        ({"class_weight": {0: 1.0}}, ps.UNKNOWN, "class_weight= has no effect"),
        ({}, ps.INFINITE, "steps_per_epoch="),
        ({"steps_per_epoch": 5}, 0, "no batches"),
    ],
)
def test_arguments_without_effect_or_end_are_refused(given, length, message):
    with pytest.raises(PlanError, match=message):
        refuse_ignored(given, length)


def test_other_arguments_are_fine():
    for given, length in (({}, 3), ({"y": None}, ps.UNKNOWN), ({"steps_per_epoch": 5}, ps.INFINITE)):
        refuse_ignored(given, length)

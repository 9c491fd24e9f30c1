"""The contents of places of modules, apart and together."""

from __future__ import annotations

import pickle
import threading

import numpy as np

from penstock.plan.safety.module_place import ModulePlace
from penstock.transport.sent_values import LARGEST_VALUE, sent_value, sent_values

A, B, C = (ModulePlace("module", (name,)) for name in "abc")


class Kind:
    pass


def test_values_with_an_object_in_common_are_one_pickle():
    shared = [1]
    made = sent_values({B: shared, C: 7, A: {"in": shared}})
    assert made[A] == made[B] == ("value", made[A].data, (A, B))
    held, again = pickle.loads(made[A].data)
    assert held["in"] is again
    assert made[C] == sent_value(7)
    assert made == sent_values({A: {"in": shared}, B: shared, C: 7})


def test_three_values_are_together_by_the_one_in_the_middle():
    one, other = object(), object()
    assert sent_values({A: [one], B: [other], C: [one, other]})[A].places == (A, B, C)


def test_equal_values_texts_classes_and_functions_hold_no_object_in_common():
    text = "a" * 100
    for one, other in [([1], [1]), ([text], [text]), ([Kind], [Kind]), (Kind(), Kind()), ([sent_value], [sent_value])]:
        assert sent_values({A: one, B: other}) == {A: sent_value(one), B: sent_value(other)}
    both = np.zeros(3), np.zeros(4)
    assert not sent_values(dict(zip((A, B), both, strict=True)))[A].places


def test_what_is_not_sent_counts_by_its_type_or_content():
    assert sent_value(threading.Lock())[:2] == ("unsendable", b"_thread.lock")
    assert sent_value(bytes(LARGEST_VALUE + 1))[:2] == ("large", b"bytes")
    large = np.zeros(LARGEST_VALUE + 1, np.uint8)
    assert sent_value(large).kind == "digest"
    assert sent_values({A: large, B: large}) == {A: sent_value(large), B: sent_value(large)}

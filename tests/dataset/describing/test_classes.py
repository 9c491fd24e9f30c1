"""Counts of distinct values."""

from __future__ import annotations

import json
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from penstock.dataset.describing import classes as module
from penstock.dataset.describing.classes import ClassCounts

VALUES = st.lists(st.integers() | st.text(max_size=3) | st.binary(max_size=3))


@given(VALUES, st.integers(0, 9))
def test_counts_merge_and_are_those_of_a_counter(values, cut):
    one, other = ClassCounts(), ClassCounts()
    one.add(values[:cut])
    other.add_counts(Counter(values[cut:]))
    one.merge(other)
    assert one.counts() == dict(Counter(values))
    ordered = list(one.counts().values())
    assert ordered == sorted(ordered, reverse=True)
    again = ClassCounts.of_state(json.loads(json.dumps(one.state())))
    assert list(again.counts().items()) == list(one.counts().items())


@given(st.permutations([*range(6)] * 2), st.integers(0, 12), st.integers(1, 7))
def test_too_many_does_not_depend_on_the_order(values, cut, most):
    before, module.MOST_CLASSES = module.MOST_CLASSES, most
    try:
        one, other = ClassCounts(), ClassCounts()
        one.add(values[:cut])
        other.add(values[cut:])
        one.merge(other)
    finally:
        module.MOST_CLASSES = before
    assert one.too_many == (most < 6)
    assert one.counts() == ({} if one.too_many else dict.fromkeys(range(6), 2))


def test_flags_and_numbers_are_different_classes():
    classes = ClassCounts()
    classes.add([True, 1, 1, False])
    assert classes.counts() == {1: 2, "False": 1, "True": 1}
    flags = ClassCounts()
    flags.add([True, False, True])
    assert list(flags.counts().items()) == [(True, 2), (False, 1)]


def test_values_that_are_no_classes_are_not_counted_whatever_comes_next():
    pixels, labels = ClassCounts(), ClassCounts()
    pixels.leave()
    labels.add([1, 2])
    labels.merge(pixels)
    labels.add([3])
    assert (labels.counts(), labels.too_many, labels.unsuited) == ({}, False, True)
    assert ClassCounts.of_state(labels.state()).unsuited

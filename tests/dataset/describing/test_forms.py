"""Dtypes and shapes seen."""

from __future__ import annotations

import json

from penstock.dataset.describing.forms import MOST_LEAF_FORMS, OTHERS, Forms


def test_shapes_of_one_dtype_and_number_of_dimensions_are_one_form():
    one, other = Forms(), Forms()
    one.add("uint8", (4, 8))
    one.add("uint8", (6, 8))
    other.add("uint8", (5, 2))
    other.add("uint8", (5,))
    other.add("str", count=3)
    one.merge(other)
    assert list(one.texts()) == [("uint8[4…6, 2…8]", 3), ("str", 3), ("uint8[5]", 1)]
    assert list(Forms.of_state(json.loads(json.dumps(one.state()))).texts()) == list(one.texts())


def test_many_forms_are_counted_together():
    forms = Forms()
    for number in range(100):
        forms.add(f"type{number}")
    counts = dict(forms.texts())
    assert counts[OTHERS] == 100 - MOST_LEAF_FORMS
    assert sum(counts.values()) == 100

"""The nesting of plain elements is JSON data, and comes back."""

from __future__ import annotations

import json
from collections import namedtuple

import pytest

from penstock.core.errors import ElementError
from penstock.elements.nested.plain import element_of, nesting_of
from penstock.testing.laws import same

Point = namedtuple("Point", "x y")  # noqa: PYI024 - as users write them


@pytest.mark.parametrize("element", [0, None, {"b": 0, "a": (0, [0, None])}, {}, (), [()]])
def test_nestings_are_json_with_the_order_of_keys(element):
    nesting = json.loads(json.dumps(nesting_of(element, "save()")))
    assert same(element_of(nesting), element)


@pytest.mark.parametrize(("element", "named"), [({1: 0}, "has the keys"), (Point(0, 0), "contains a Point")])
def test_other_nestings_are_refused_by_the_name_of_the_call(element, named):
    with pytest.raises(ElementError, match=rf"^save\(\): .*{named}"):
        nesting_of([element], "save()")


@pytest.mark.parametrize("nesting", [{"set": []}, {"dict": [], "list": []}])
def test_unknown_nestings_are_refused(nesting):
    with pytest.raises(ValueError, match="nesting"):
        element_of(nesting)

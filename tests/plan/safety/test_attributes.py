"""Attributes and names are looked up without running anything of the user's."""

from __future__ import annotations

import functools

from penstock.plan.safety import attributes
from penstock.plan.safety.instructions import ABSENT


class Slotted:
    __slots__ = ("empty", "filled")

    def __init__(self):
        self.filled = 1


class Computing:
    """Every access that runs code raises."""

    kept = 3

    def __getattr__(self, name):
        raise AssertionError(name)

    @property
    def computed(self):
        raise AssertionError

    @functools.cached_property
    def once(self):
        raise AssertionError


def test_attributes_are_those_that_exist():
    computing = Computing()
    computing.own = 2
    assert attributes.dict_of(computing) == {"own": 2}
    assert attributes.dict_of(Slotted()) == {}
    assert attributes.class_attribute(Computing, "kept") == 3
    assert attributes.class_attribute(Computing, "missing") is ABSENT
    slots = [attributes.class_attribute(Slotted, name) for name in ("filled", "empty")]
    assert [attributes.slot_of(slot, Slotted()) for slot in slots] == [1, ABSENT]


def test_the_function_behind_a_property_is_found():
    for name in ("computed", "once"):
        assert attributes.function_behind(attributes.class_attribute(Computing, name)).__name__ == name
    assert attributes.function_behind(3) == 3


def test_names_and_parameters_of_a_function():
    def outer(x, y=2, *, z=3):
        return [abs(each) for each in x], getattr(y, "real"), z  # noqa: B009

    assert attributes.parameters_of(outer) == ("x", "y")
    assert {name: known.thing for name, known in attributes.defaults_of(outer).items()} == {"y": 2, "z": 3}
    assert {"abs", "getattr", "real"} <= attributes.used_names(outer.__code__)


def test_only_modules_of_the_user_are_no_library():
    assert [attributes.is_library(name) for name in ("__main__", None, "json.decoder", "numpy", "tests.draws")] == [
        *(False, False, True, True, False)
    ]

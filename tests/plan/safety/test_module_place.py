"""Places in modules: what they hold, and other values for them."""

from __future__ import annotations

import pytest

from penstock.plan.safety.instructions import ABSENT
from penstock.plan.safety.module_place import CACHED_RESULT, CODE, ModulePlace

SOURCE = """
import functools
SCALE = 2
class Settings:
    step = 3
    @staticmethod
    def static(x): return x
def closed(by): return lambda: by
made = closed(5)
def scaled(x): return 2 * x
def other(x): return 7 * x
@functools.cache
def loaded(): raise AssertionError
"""


@pytest.fixture
def module(new_module):
    return new_module("held_by_tests", SOURCE)


@pytest.mark.parametrize("steps", [("SCALE",), ("Settings", "step"), ("made", 0), ("scaled", "__defaults__"), ("new",)])
def test_a_place_holds_what_it_is_given_until_that_is_undone(module, steps):
    place = ModulePlace(module.__name__, steps)
    before = place.value()
    place.set((9,))
    assert place.value() == (9,)
    place.set(before)
    assert place.value() == before
    assert (before is ABSENT) == (not hasattr(module, steps[0]))


def test_a_function_may_have_the_code_of_another(module):
    ModulePlace(module.__name__, ("scaled", CODE)).set(module.other.__code__)
    assert module.scaled(1) == 7
    with pytest.raises(ValueError, match="free vars"):
        ModulePlace(module.__name__, ("scaled", CODE)).set(module.made.__code__)


def test_a_cached_function_keeps_a_result_without_being_called(module):
    place = ModulePlace(module.__name__, ("loaded", CACHED_RESULT))
    assert place.value() is ABSENT
    place.set([1])
    assert (module.loaded(), place.value()) == ([1], None)
    place.set(ABSENT)
    assert place.value() is ABSENT
    with pytest.raises(AssertionError):
        module.loaded()


def test_a_place_is_that_of_what_the_module_defines_there(module):
    place = ModulePlace(module.__name__, ("Settings", "static"))
    for each in (module.Settings, module.scaled, module.loaded):
        each.__module__ = module.Settings.static.__module__ = module.__name__
    assert place.is_of(vars(module.Settings)["static"])
    assert not place.is_of(module.scaled)
    assert ModulePlace(module.__name__, ("scaled",)).is_of(module.scaled)

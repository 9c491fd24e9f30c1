"""The places in modules that functions read."""

from __future__ import annotations

import functools

import pytest

import penstock as ps
from penstock.plan.safety.imported import Imported, imported_by
from penstock.plan.safety.module_place import CACHED_RESULT, ModulePlace

SOURCE = """
import functools, math
SCALE = 2
unread = 5

class Settings:
    step = 3
    def times(self, x): return x * self.step

def scaled(x): return x * SCALE
def by_object(x, settings=Settings()): return settings.times(x)
def counted(x):
    global SCALE
    SCALE += 1
    return x
def of_all(x): return globals()[x]
def of_library(x): return math.pi * x
@functools.cache
def loaded(): return [1]
def by_loaded(x): return loaded()[0] * x
@functools.cache
def looked_up(name): return [name]
"""


@pytest.fixture
def module(new_module):
    return new_module("read_by_tests", SOURCE)


def found(*functions):
    made = Imported()
    for each in functions:
        made.add(each)
    return made


def places(made):
    return {str(place).removeprefix("read_by_tests.") for place in made.values}


def test_what_a_function_reads_is_found_and_nothing_else(module):
    made = found(module.scaled)
    assert made.values == {ModulePlace("read_by_tests", ("SCALE",)): 2}
    assert [str(place) for place in made.code] == ["read_by_tests.scaled.__code__"]


def test_classes_are_found_in_defaults(module):
    made = found(module.by_object)
    assert places(made) == {"by_object.__defaults__", "Settings.step"}
    assert "read_by_tests.Settings.times.__code__" in map(str, made.code)


def test_functions_of_the_script_lead_to_modules(module):
    assert places(found(lambda x: module.SCALE * x)) == {"SCALE"}
    assert places(found(functools.partial(module.scaled))) == {"SCALE"}


def test_variables_that_a_function_assigns_are_known(module):
    made = found(module.counted)
    assert made.stores(ModulePlace("read_by_tests", ("SCALE",)))
    assert not found(module.scaled).stores(ModulePlace("read_by_tests", ("SCALE",)))


def test_a_module_that_is_read_by_made_up_names_counts_whole(module):
    made = found(module.of_all)
    assert {"SCALE", "unread"} <= places(made)
    assert made.perhaps == {"read_by_tests"}


def test_plain_values_of_libraries_count_where_the_function_reads_them(module):
    assert [str(place) for place in found(module.of_library).values] == ["math.pi"]


def test_the_result_of_a_cached_function_counts_once_it_is_kept(module):
    assert places(found(module.by_loaded)) == set()
    module.loaded()
    module.looked_up("x")
    place = ModulePlace("read_by_tests", ("loaded", CACHED_RESULT))
    assert found(module.by_loaded, module.looked_up).values == {place: [1]}


def test_all_operations_and_sources_of_a_plan_count(module):
    class Source:
        def __len__(self):
            return 3

        def __getitem__(self, row):
            return row * module.SCALE

    ds = ps.Dataset.from_source(Source()).filter(lambda x: x < module.unread)
    assert places(imported_by(ds._plan)) == {"SCALE", "unread"}


def test_a_value_with_many_parts_ends_the_search():
    nested = []
    for _ in range(100_000):
        nested = [nested]
    assert found(functools.partial(print, nested)).values == {}


def test_variables_that_a_function_takes_along_are_known(module):
    exec("def factory(): return lambda x: x * SCALE", vars(module))
    made = found(module.factory())
    assert (made.carried, made.values) == ({ModulePlace("read_by_tests", ("SCALE",)): 2}, {})
    assert found(module.scaled).carried == {}


def test_attributes_that_an_object_assigns_to_itself_are_not_those_of_its_class(module):
    exec("def both(self, cls): self.of_object = cls.of_class = 1", vars(module))
    made = found(module.both)
    stored = [made.stores(ModulePlace("read_by_tests", ("C", name))) for name in ("of_object", "of_class")]
    assert stored == [False, True]

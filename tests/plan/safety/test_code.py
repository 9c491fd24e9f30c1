"""The values that code loads, the names that it uses, and what it may write."""

from __future__ import annotations

import math

import pytest

from penstock.plan.safety.code import Code, FixedError
from penstock.plan.safety.reads import Reads

TABLE = [1, 2]


class Values(dict):
    def value(self, thing, name):
        self[name] = thing


def code_of(function):
    told = Values()
    code = Code(told, Reads())
    code.read(function)
    return code, told


def outer(factor):
    def within(x):
        return [x * factor for _ in TABLE]

    return within


def test_loaded_values_are_told_by_name():
    code, told = code_of(outer(3))
    assert told == {"factor": 3, "TABLE": TABLE}
    code, told = code_of(lambda x: math.sqrt(x) + math.pi + len(TABLE))
    assert told == {"math.pi": math.pi, "len": len, "TABLE": TABLE}
    assert {"len", "TABLE"} <= code.names


def adds_to_an_argument(x):
    x += 1
    return x


def adds_to_what_was_loaded(x):
    kept = TABLE
    kept += [x]
    return kept


def adds_in_a_loop(x):
    for each in TABLE:
        each += x  # noqa: PLW2901
    return each


@pytest.mark.parametrize(
    ("function", "augments"),
    [
        (lambda x: x + 1, False),
        (adds_to_an_argument, True),
        (adds_to_what_was_loaded, True),
        (adds_in_a_loop, True),
    ],
)
def test_in_place_operations_count_unless_on_a_number_of_its_own(function, augments):
    assert code_of(function)[0].augments is augments


def counts(x):
    total = 0
    for each in TABLE:
        total += each
        total = total * 2
    return total


def test_a_number_of_its_own_may_change_in_place():
    assert not code_of(counts)[0].augments


def test_stores_into_items_are_noted():
    def stores(x):
        made = {}
        made[x] = 1
        return made

    assert code_of(stores)[0].stores
    assert not code_of(counts)[0].stores


def test_a_name_that_is_not_there_yet_is_an_error():
    def reads_late(x):
        return x + late

    with pytest.raises(FixedError, match="`late`, which does not exist yet"):
        code_of(reads_late)
    late = 1
    code_of(reads_late)

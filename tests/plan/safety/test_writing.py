"""Functions that may write into their argument arrays."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from penstock.elements.chunks.chunk import Columns, Items
from penstock.elements.nested.structure import LEAF, flatten
from penstock.plan.safety.writing import elements_for, may_write, only_reads, reaches_its_arguments_only


def in_place(x):
    x += 1
    return x


def through_another(x):
    return in_place(x)


def with_a_parameter(amount, x):
    x[:amount] = 0
    return x


class Augments:
    def __call__(self, x):
        np.multiply(x, 2, out=x)
        return x

    def method(self, x):
        x.sort()
        return x


class Inherits(Augments):
    pass


def around(function):
    def inner(x):
        return function(x)

    return inner


WRITE = [
    in_place,
    through_another,
    partial(with_a_parameter, 3),
    Augments(),
    Inherits(),
    Augments().method,
    around(in_place),
    lambda row: row["x"].fill(0),
    lambda row: [row["x"].clip(0, 1, out=row["x"]) for _ in range(2)],
]


def new_key(row):
    row["y"] = row["x"] + 1
    return row


def unset_later():
    def inner(x):
        return later(x)

    if inner is None:
        later = in_place
    return inner


DO_NOT = [new_key, np.sin, str, dict, lambda x: x + 1, lambda x: sorted(x), partial(np.add, 1), unset_later()]  # noqa: PLW0108


@pytest.mark.parametrize("function", WRITE)
def test_code_that_writes_into_an_argument_is_found(function):
    assert may_write(function)


@pytest.mark.parametrize("function", DO_NOT)
def test_code_that_makes_new_arrays_is_not_found(function):
    assert not may_write(function)


@pytest.mark.parametrize(("function", "copies"), [(in_place, True), (np.sin, False)])
def test_functions_that_may_write_get_copies_of_shared_arrays(function, copies):
    kept = np.zeros(2)
    (element,) = elements_for(function)(Items([kept]))
    assert (element is not kept) == copies


def test_rows_of_a_column_are_copied_only_if_shared():
    elements_of = elements_for(in_place)
    column = np.zeros((3, 2))
    assert all(np.shares_memory(column, row) for row in elements_of(Columns(LEAF, [column], 3)))
    repeated = np.lib.stride_tricks.as_strided(np.zeros(2), (3, 2), (0, 8))
    one, other, _ = elements_of(Columns(LEAF, [repeated], 3))
    assert not np.shares_memory(repeated, one)
    assert not np.shares_memory(one, other)


def test_leaves_that_share_memory_are_copied():
    column = np.zeros((3, 2))
    chunk = Columns(flatten({"x": 0, "y": 0})[1], [column, column[:, 0]], 3)
    element = elements_for(in_place)(chunk)[0]
    assert not np.shares_memory(element["x"], element["y"])
    assert not np.shares_memory(element["x"], column)


LIMIT, TABLE = 3, [np.zeros(1)]


@pytest.mark.parametrize(
    ("function", "wanted"),
    [
        (lambda d: {"x": d["x"][:LIMIT], "n": len(d)}, True),
        (lambda d: [str(each) for each in d], True),
        (lambda d: zip(d, d, strict=True), True),
        (lambda d: TABLE[0], False),
        (lambda d: [TABLE[0] for _ in d], False),
        (lambda d, kept=[0]: kept, False),
        (lambda d: d.kept, False),
        (lambda d: d.get(), False),
        (lambda d: globals()["TABLE"], False),
        (np.add, False),
    ],
)
def test_functions_that_reach_their_arguments_only(function, wanted):
    assert reaches_its_arguments_only(function) is wanted


def test_a_function_with_outer_variables_reaches_them():
    kept = np.zeros(1)
    assert not reaches_its_arguments_only(lambda d: kept)
    assert not reaches_its_arguments_only(lambda d: [kept for _ in d])


def with_item(d):
    d["x"] = 0
    return d


def without_item(d):
    del d["x"]
    return d


def added(d):
    x = d["x"]
    x += 1
    return x


@pytest.mark.parametrize(
    ("function", "wanted"),
    [
        (lambda d: {"x": d["x"][:LIMIT], "n": len(d), "y": d["x"] * 2}, True),
        (lambda d: [each for each in d if each], True),
        (lambda a, b: (b, dict(a)), True),
        (lambda d: zip(d, d, strict=True), False),
        (lambda d: (each for each in d), False),
        (lambda d: sum(each for each in d), False),
        (lambda d: TABLE[0], False),
        *((function, False) for function in (with_item, without_item, added, np.add)),
    ],
)
def test_functions_that_only_read(function, wanted):
    assert only_reads(function) is wanted

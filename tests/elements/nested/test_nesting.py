"""Chunks inside structures, and parts of structures taken out and exchanged."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest

from penstock.core.errors import ElementError
from penstock.elements.chunks.chunk import Columns, Items
from penstock.elements.nested.nesting import leaf_column, nested, part_in, part_of_chunk, with_part, with_part_of_chunk
from penstock.elements.nested.structure import flatten


class Point(NamedTuple):
    x: object
    y: object


@dataclass(frozen=True)
class Example:
    image: object
    label: object


def structure_of(element):
    return flatten(element)[1]


PARTS = [
    ({"b": 1, "a": 2}, "a", {"b": 1, "a": -2}),
    (OrderedDict(b=1, a=2), "a", OrderedDict(b=1, a=-2)),
    ((1, 2), 1, (1, -2)),
    ((1, 2), -1, (1, -2)),
    ([1, 2], 1, [1, -2]),
    (Point(1, 2), "y", Point(1, -2)),
    (Point(1, 2), 1, Point(1, -2)),
    (Example(1, 2), "label", Example(1, -2)),
]


@pytest.mark.parametrize(("element", "part", "changed"), PARTS)
def test_a_part_is_taken_out_and_put_back_in_an_element_of_the_same_kind(element, part, changed):
    made = with_part(element, part, -part_in(element, part))
    assert made == changed
    assert type(made) is type(element)
    if isinstance(element, dict):
        assert list(made) == list(element)


@pytest.mark.parametrize(("element", "part", "changed"), PARTS)
def test_a_chunk_of_columns_and_one_of_items_do_the_same(element, part, changed):
    leaves, structure = flatten(element)
    for chunk in (Columns(structure, [np.array([leaf]) for leaf in leaves], 1), Items([element])):
        found, _ = part_of_chunk(chunk, part)
        values = found.elements()
        (made,) = with_part_of_chunk(chunk, part, leaf_column(-np.array(values))).elements()
        assert made == changed
        assert type(made) is type(element)


def test_an_element_is_never_changed_in_place():
    element = defaultdict(list, a=1)
    made = with_part(element, "a", 5)
    assert (element["a"], made["a"], made.default_factory) == (1, 5, list)


@pytest.mark.parametrize(
    ("element", "part"),
    [
        ({"a": 1}, "b"),
        ((1, 2), 2),
        ((1, 2), -3),
        (Point(1, 2), "z"),
        (Example(1, 2), "weight"),
        (b"bytes", 0),
        (np.arange(3), 0),
        (7, 0),
    ],
)
def test_a_missing_part_is_named(element, part):
    with pytest.raises(ElementError, match=f"there is no {part!r} in an element of type {type(element).__name__}"):
        part_in(element, part)
    leaves, structure = flatten(element)
    with pytest.raises(ElementError, match=f"there is no {part!r} in an element of structure"):
        part_of_chunk(Columns(structure, [[leaf] for leaf in leaves], 1), part)


def test_a_part_may_be_exchanged_for_another_structure():
    structure = structure_of({"a": 0, "b": 0})
    chunk = Columns(structure, [np.array([1, 2]), np.array([3, 4])], 2)
    pairs = Columns(structure_of((0, 0)), [np.array([5, 6]), np.array([7, 8])], 2)
    assert with_part_of_chunk(chunk, "a", pairs).elements() == [{"a": (5, 7), "b": 3}, {"a": (6, 8), "b": 4}]


def test_nested_chunks_are_columns_only_if_all_chunks_are():
    outer = structure_of({"n": 0, "x": 0})
    numbers = leaf_column(np.array([1, 2]))
    assert isinstance(nested(outer, [numbers, numbers]), Columns)
    mixed = nested(outer, [numbers, Items([[1], "b"])])
    assert mixed.elements() == [{"n": 1, "x": [1]}, {"n": 2, "x": "b"}]


def test_each_structure_keeps_its_order_of_keys():
    number = leaf_column(np.array([1]))
    for keys in ("ab", "ba"):
        element = nested(structure_of(dict.fromkeys(keys, 0)), [number, number]).elements()[0]
        assert list(element) == list(keys)
        changed = with_part_of_chunk(Items([element]), "a", number)
        as_columns = Columns(structure_of(element), [np.array([1]), np.array([2])], 1)
        for chunk in (changed, with_part_of_chunk(as_columns, "a", number)):
            assert list(chunk.elements()[0]) == list(keys)

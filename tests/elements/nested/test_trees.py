"""Nested structures as optree trees; `test_structure.py` tests the public side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import pytest

from penstock.elements.nested.trees import (
    TREE_LEAF,
    assembler,
    dataclass_nodes,
    describe_tree,
    is_tree_leaf,
    taken_apart,
    tree_paths,
)

LEAF_TYPES = frozenset({int, str})


class Pair(NamedTuple):
    left: int
    right: int


@dataclass
class Example:
    image: int
    boxes: object


NESTED = {"b": 1, "a": (2, [3, None]), "c": Pair(4, 5), "d": Example(6, {"x": 7})}


def test_leaves_come_in_the_order_of_the_sorted_keys():
    leaves, treespec = taken_apart(NESTED, LEAF_TYPES, None)
    assert leaves == [2, 3, 1, 4, 5, 6, 7]
    assert treespec.unflatten(leaves) == NESTED


def test_nodes_to_keep_are_leaves():
    leaves, _ = taken_apart(NESTED, LEAF_TYPES, lambda value: isinstance(value, tuple | Example))
    assert leaves == [(2, [3, None]), 1, Pair(4, 5), NESTED["d"]]


def test_each_leaf_has_its_path():
    assert tree_paths(taken_apart(NESTED, LEAF_TYPES, None)[1]) == [
        *('["a"][0]', '["a"][1][0]', '["b"]', '["c"].left', '["c"].right', '["d"].image', '["d"].boxes["x"]'),
    ]
    assert tree_paths(TREE_LEAF) == [""]


@pytest.mark.parametrize("element", [5, {"x": 1}, {"y": 1, "x": 2}, {"c": 1, "a": 2, "b": 3}, (1, 2), [1], (), NESTED])
def test_flattened_elements_are_rebuilt_from_columns(element):
    leaves, treespec = taken_apart(element, LEAF_TYPES, None)
    made = assembler(treespec)([[leaf] * 3 for leaf in leaves], 3)
    assert made == [element] * 3
    assert list(map(type, made)) == [type(element)] * 3
    if isinstance(element, dict):
        assert list(made[0]) == list(element)


def test_descriptions_have_the_users_order_of_keys():
    texts = [*"abcdefg", "more"]
    told = describe_tree(taken_apart(NESTED, LEAF_TYPES, None)[1], texts)
    assert told == '{"b": c, "a": (a, [b, None]), "c": Pair(left=d, right=e), "d": Example(image=f, boxes={"x": g})}'
    assert texts == ["more"]


def test_dataclasses_are_registered_when_first_met():
    @dataclass
    class Met:
        value: int

    assert not is_tree_leaf(Met(1))
    assert taken_apart(Met(1), LEAF_TYPES, None)[0] == [1]
    assert dataclass_nodes(taken_apart([Met(1), Met(2)], LEAF_TYPES, None)[1]) == [Met, Met]
    assert is_tree_leaf(object())

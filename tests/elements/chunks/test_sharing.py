"""Elements that several hold are given containers of their own, and arrays that cannot be written to."""

from __future__ import annotations

import pickle
import threading
from collections import Counter, OrderedDict, defaultdict, deque
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from penstock.elements.chunks.sharing import (
    gathered,
    travelling,
    with_own_arrays,
    with_own_containers,
    with_own_containers_and_sealed_arrays,
    with_own_objects,
    with_sealed_arrays,
)
from penstock.elements.nested.structure import flatten
from penstock.elements.ragged import Ragged


class Pair(NamedTuple):
    first: object
    second: object


@dataclass
class Open:
    value: object


@dataclass(frozen=True)
class Closed:
    value: object


class Words(list):
    """A subclass of `list`."""


ARRAY = np.arange(3)


def nestings(leaf):
    lists = [[leaf], deque([leaf]), Words([leaf]), (leaf,), Pair(leaf, 1)]
    dicts = [{"x": leaf}, OrderedDict(x=leaf), defaultdict(list, x=leaf)]
    return [*lists, *dicts, Open(leaf), Closed(leaf), {"x": [(Open(leaf), {"y": leaf})]}]


@pytest.mark.parametrize("element", nestings([1]), ids=repr)
def test_inner_lists_are_copied_in_every_kind_of_container(element):
    (copy,) = with_own_containers([element])
    assert type(copy) is type(element)
    assert copy == element
    assert copy is not element
    assert not set(map(id, inner(copy))) & set(map(id, inner(element)))


def inner(value):
    """Every container that can be written to."""
    if isinstance(value, dict):
        parts = list(value.values())
    elif isinstance(value, list | deque | tuple):
        parts = list(value)
    elif isinstance(value, Open | Closed):
        parts = [value.value]
    else:
        return []
    found = [each for part in parts for each in inner(part)]
    return found if isinstance(value, tuple | Closed) else [value, *found]


def test_a_frozen_container_of_leaves_is_not_copied():
    for element in (Closed(1), (1, ARRAY), Pair(1, 2)):
        assert with_own_containers([element])[0] is element


class Backwards(dict):
    """A dict that lists its keys in an order of its own."""

    def __iter__(self):
        return reversed(list(dict.keys(self)))


@pytest.mark.parametrize("function", [with_own_containers, with_own_arrays, with_own_objects, with_sealed_arrays])
@pytest.mark.parametrize("cls", [OrderedDict, Backwards])
def test_values_stay_with_their_keys_in_a_dict_with_an_order_of_its_own(cls, function):
    element = cls(image=[np.zeros(2)], label=[-1])
    if cls is OrderedDict:
        element.move_to_end("image")
    (copy,) = function([element])
    assert list(copy) == ["label", "image"]
    assert copy["label"] == [-1]
    assert isinstance(copy["image"][0], np.ndarray)


def test_a_copy_of_an_ordered_dict_is_taken_apart_as_the_original_is():
    element = OrderedDict(image=[1], label=2)
    element.move_to_end("image")
    (copy,) = with_own_containers([element])
    assert copy == element
    assert flatten(copy) == flatten(element)


def test_a_user_class_keeps_its_attributes():
    made = defaultdict(list, x=[1])
    (copy,) = with_own_containers([made])
    copy["new"].append(1)
    assert "new" not in made
    assert with_own_containers([Counter("aab")]) == [Counter("aab")]


@pytest.mark.parametrize("element", nestings(ARRAY), ids=repr)
def test_arrays_are_read_only_in_every_container_and_the_users_arrays_stay_writable(element):
    (made,) = with_sealed_arrays([element])
    assert not any(array.flags.writeable for array in arrays(made))
    assert all(array is ARRAY for array in arrays(element))
    assert ARRAY.flags.writeable
    assert with_sealed_arrays([made])[0] is made


@pytest.mark.parametrize("element", nestings(ARRAY), ids=repr)
def test_arrays_are_copied_in_every_kind_of_container(element):
    (made,) = with_own_arrays([element])
    for array in arrays(made):
        array[:] = 9
    assert ARRAY.tolist() == [0, 1, 2]


@pytest.mark.parametrize("element", nestings(ARRAY), ids=repr)
def test_whether_arrays_can_be_written_to_survives_a_pickle(element):
    for values, writable in (([element], True), (with_sealed_arrays([element]), False)):
        (made,) = pickle.loads(pickle.dumps(travelling(values)))
        assert {array.flags.writeable for array in arrays(made)} == {writable}


def arrays(value):
    if isinstance(value, np.ndarray):
        return [value]
    if isinstance(value, dict):
        parts = list(value.values())
    elif isinstance(value, list | deque | tuple):
        parts = list(value)
    else:
        parts = [value.value] if isinstance(value, Open | Closed) else []
    return [array for part in parts for array in arrays(part)]


def test_ragged_rows_are_sealed_and_copied_as_arrays_are():
    ragged = Ragged.from_rows([[1, 2], [3]])
    assert not with_sealed_arrays([ragged])[0].writeable
    (copy,) = with_own_arrays([ragged])
    copy.flat_values[0] = 9
    assert ragged.flat_values[0] == 1


def test_gathered_rows_are_read_only_unless_written_into_given_memory():
    column, memory = np.zeros((3, 2)), np.empty((1, 2))
    assert gathered(column, np.array([1]), memory) is memory
    assert gathered(column, np.array([1]), np.empty((1, 3))).flags.writeable is False
    assert gathered(np.zeros(3), np.array([1])).flags.writeable


@pytest.mark.parametrize("function", [with_sealed_arrays, with_own_containers_and_sealed_arrays, with_own_objects])
def test_rows_of_structured_arrays_are_copied(function):
    rows = np.zeros(2, [("x", int), ("y", float)])
    first, (second,) = function([rows[0], [rows[1]]])
    first["x"] = second["x"] = 5
    assert rows["x"].tolist() == [0, 0]


@pytest.mark.parametrize("kept", [np.zeros(4), np.array(["a", b"b", None, 1], object), np.array(4)], ids=repr)
def test_a_holder_may_assign_a_shape_to_its_view_of_an_array(kept):
    shape = kept.shape
    kept.flags.writeable = False
    (element,) = with_own_objects([{"x": kept}])
    element["x"].shape = (-1, 1)
    assert kept.shape == shape
    assert np.shares_memory(element["x"], kept)
    assert not element["x"].flags.writeable


@pytest.mark.parametrize("function", [with_own_objects, with_sealed_arrays])
def test_masked_arrays_are_copied_with_their_masks(function):
    kept = np.ma.array([1, 2], mask=[True, False])
    (element,) = function([kept])
    element[1] = np.ma.masked
    assert kept.tolist() == [None, 2]
    with pytest.raises(ValueError, match="read-only"):
        element[0] = 3
    assert function([np.ma.masked])[0] is np.ma.masked


class Plain:
    def __init__(self):
        self.tags = ["cat"]


def test_objects_are_copied_deeply_at_all_depths():
    kept = Plain()
    (element,) = with_own_objects([{"x": (kept, [kept])}])
    element["x"][0].tags.append("dog")
    element["x"][1][0].tags.append("bird")
    assert kept.tags == ["cat"]


def test_the_items_of_an_array_of_objects_are_copied_and_the_array_is_read_only():
    kept = np.empty(2, object)
    kept[:] = [["cat"], "dog"]
    (element,) = with_own_objects([kept])
    element[0].append("bird")
    assert kept[0] == ["cat"]
    assert not element.flags.writeable


@pytest.mark.parametrize(
    "value",
    [
        object(),
        threading.Lock(),
        np.float32(1),
        Decimal(1),
        Path("a"),
        datetime.now(UTC),
        Plain,
        with_own_objects,
        frozenset(["a"]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_immutable_values_and_those_that_cannot_be_copied_are_shared(value):
    values = [{"x": value}]
    assert with_own_objects(values) is values

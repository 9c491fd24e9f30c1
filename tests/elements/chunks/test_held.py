"""Elements held in numbered places."""

from __future__ import annotations

import weakref

import numpy as np
import pytest

from penstock.elements.chunks.chunk import Columns, Items
from penstock.elements.chunks.held import HeldElements
from penstock.elements.nested.structure import LEAF
from penstock.elements.ragged import Ragged

INTS = Columns(LEAF, [np.arange(3)], 3)


@pytest.mark.parametrize(
    "new",
    [
        Columns(LEAF, [np.array([7, 8])], 2),
        Columns(LEAF, [np.array([7.5, 8.5])], 2),
        Columns(LEAF, [np.ones((2, 4))], 2),
        Columns(LEAF, [["a", "b"]], 2),
        Items(["a", b"b"]),
        Items([{"x": 1}, {"x": 2}]),
    ],
)
@pytest.mark.parametrize("first", [INTS, Items([0, 1, 2]), Columns(LEAF, [["x", "y", "z"]], 3)])
def test_stored_elements_are_returned_unchanged(first, new):
    kept = first.element(1)
    held = HeldElements(first.select(np.arange(3)))
    held.put(new, np.array([2, 0]))
    taken = held.take(np.array([0, 1, 2])).elements()
    for found, wanted in zip(taken, [new.element(1), kept, new.element(0)], strict=True):
        np.testing.assert_equal(found, wanted)
        assert type(found) is type(wanted)


def test_ragged_rows_keep_their_values():
    rows = Ragged.from_rows([[1], [2, 3], []])
    held = HeldElements(Columns(LEAF, [rows], 3))
    held.put(Columns(LEAF, [rows], 3).slice(1, 2), np.array([2]))
    assert [len(row) for row in held.take(np.array([0, 1, 2])).elements()] == [1, 2, 2]


def test_returned_elements_do_not_change_when_their_places_are_reused():
    held = HeldElements(INTS.select(np.arange(3)))
    taken = held.take(np.array([1]))
    held.put(Columns(LEAF, [np.array([9])], 1), np.array([1]))
    assert taken.elements() == [1]


def test_read_only_arrays_are_held_in_copies():
    array = np.arange(6.0).reshape(3, 2)
    array.flags.writeable = False
    held = HeldElements(Columns(LEAF, [array], 3))
    held.put(Columns(LEAF, [np.zeros((1, 2))], 1), np.array([1]))
    assert held.take(np.arange(3)).columns[0].tolist() == [[0, 1], [0, 0], [4, 5]]
    assert array.tolist() == [[0, 1], [2, 3], [4, 5]]


def test_rows_of_ragged_stay_ragged():
    held = HeldElements(Columns(LEAF, [Ragged.from_rows([[1], [2, 3]])], 2))
    held.put(Columns(LEAF, [Ragged.from_rows([[4, 5, 6]])], 1), np.array([0]))
    (column,) = held.take(np.array([1, 0])).columns
    assert column == Ragged.from_rows([[2, 3], [4, 5, 6]])


class Element:
    """An object that can be referred to weakly."""


@pytest.mark.parametrize(
    "form",
    [
        Items,
        lambda values: Columns(LEAF, [values], len(values)),
        lambda values: Columns(LEAF, [np.array(values, object)], len(values)),
    ],
)
def test_released_objects_are_freed_and_their_places_reused(form):
    elements = [Element(), Element(), Element()]
    held, gone = HeldElements(form(list(elements))), weakref.ref(elements[1])
    held.clear(np.array([1]))
    del elements[1]
    assert gone() is None
    assert held.take(np.array([2, 0])).elements() == elements[::-1]
    held.put(form(elements[:1]), np.array([1]))
    assert held.take(np.array([1])).elements() == elements[:1]

"""Values of a leaf of several arrays."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.core.errors import ElementError
from penstock.elements.leaves.values import as_values, empty_value, end_to_end, memory, own, read_only


@pytest.mark.parametrize("wrong", [3, "text", [1, [2]], [1, "a"], [object()], [2**70]])
def test_values_that_make_no_array_are_refused(wrong):
    with pytest.raises(ElementError, match="example"):
        as_values(wrong, call="example")


def test_values_are_numbers_or_text():
    assert as_values([1, 2.5], call="").dtype == np.float64
    assert as_values([1, 2], np.int8, call="").dtype == np.int8
    assert as_values([b"\0", b"b"], call="").tolist() == [b"\0", b"b"]
    given = np.zeros((2, 3), np.uint8)
    assert as_values(given, call="") is given


def test_joined_arrays_are_copies_without_casts():
    parts = [np.zeros((1, 2)), np.ones((2, 2))]
    asked = []

    def allocate(shape, dtype):
        asked.append((shape, dtype))
        return np.empty(shape, dtype)

    assert end_to_end(parts, allocate).tolist() == [[0, 0], [1, 1], [1, 1]]
    assert asked == [((3, 2), np.dtype(np.float64))]
    for other in (np.zeros(2), np.zeros((1, 2), np.float32)):
        with pytest.raises(ElementError, match="rows 0 and 2 differ"):
            end_to_end([*parts, other], np.empty)


def test_arrays_of_objects_are_allocated_by_numpy():
    assert memory((2,), np.dtype(object), lambda *_: pytest.fail("asked for")).tolist() == [None, None]


def test_read_only_arrays_are_copied():
    array = np.zeros(3)
    assert own(array) is array
    assert own(read_only(array)).flags.writeable


def test_a_read_only_view_is_of_the_same_memory():
    array = np.zeros(3)
    view = read_only(array)
    assert np.shares_memory(array, view)
    assert array.flags.writeable
    assert not view.flags.writeable


@pytest.mark.parametrize(
    ("values", "empty"),
    [
        (np.ones(2, np.int8), 0),
        (np.ones(2, bool), False),
        (np.array(["a"], object), ""),
        (np.array([b"a"], object), b""),
        (np.array([], object), ""),
        (np.array(["ab"]), ""),
        (np.array([b"ab"]), b""),
    ],
)
def test_the_default_padding_is_zero_or_empty_text(values, empty):
    assert empty_value(values) == empty
    assert type(empty_value(values)) is not np.ndarray

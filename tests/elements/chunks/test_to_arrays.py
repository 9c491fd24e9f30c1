"""All columns of a chunk as arrays, in memory given where it fits."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.core.errors import ElementError
from penstock.elements.chunks.chunk import Columns, Items
from penstock.elements.chunks.to_arrays import stack_all
from penstock.elements.nested.structure import LEAF, flatten

ROWS = np.array([7, 9])


def test_columns_are_written_into_given_memory():
    structure = flatten({"x": 0, "y": 0})[1]
    memory = [np.empty((2,), np.int64), np.empty((2, 3), np.float32)]
    chunk = Columns(structure, [[1, 2], [np.ones(3, np.float32)] * 2], 2)
    found, arrays = stack_all(chunk, ROWS, out=memory, allocate=np.empty)
    assert found == structure
    assert all(array is given for array, given in zip(arrays, memory, strict=True))
    np.testing.assert_array_equal(arrays[0], [1, 2])


def test_memory_that_does_not_fit_is_left_alone():
    memory = [np.full((3,), -1, np.int64)]
    _, (array,) = stack_all(Items([1, 2]), ROWS, out=memory, allocate=np.empty)
    np.testing.assert_array_equal(array, [1, 2])
    np.testing.assert_array_equal(memory[0], [-1, -1, -1])


def test_values_already_in_the_given_memory_are_not_written_again():
    memory = [np.array([1, 2])]
    _, (array,) = stack_all(Columns(LEAF, [memory[0]], 2), ROWS, out=memory, allocate=np.empty)
    assert array is memory[0]


def test_views_of_a_source_are_copied_for_the_consumer():
    source = np.arange(4)
    source.flags.writeable = False
    _, (array,) = stack_all(Columns(LEAF, [source[1:3]], 2), ROWS, out=None, allocate=np.empty)
    assert array.flags.writeable
    assert not np.shares_memory(array, source)


@pytest.mark.parametrize("fits", [True, False])
def test_leaves_of_a_batch_share_no_memory(fits):
    column = np.arange(6).reshape(2, 3)
    chunk = Columns(flatten({"x": 0, "y": 0, "z": 0})[1], [column, column[:, ::-1], column[:, 0]], 2)
    memory = [np.empty_like(column), np.empty(9), np.empty(9)] if fits else None
    _, (x, y, z) = stack_all(chunk, ROWS, out=memory, allocate=np.empty)
    x += 10
    assert (y.tolist(), z.tolist()) == ([[2, 1, 0], [5, 4, 3]], [0, 3])
    y += 10
    assert z.tolist() == [0, 3]


def test_elements_that_do_not_fit_name_the_leaf_and_the_rows():
    chunk = Items([{"x": np.zeros(2)}, {"x": np.zeros(3)}])
    with pytest.raises(ElementError, match=r'rows 7 and 9 differ at \["x"\]: shape \(2,\) against \(3,\)'):
        stack_all(chunk, ROWS, out=None, allocate=np.empty)

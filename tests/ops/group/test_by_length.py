"""Padding, common to all batches by length."""

from __future__ import annotations

import numpy as np
import pytest

from penstock import Dataset
from penstock.elements.spec import ArraySpec
from penstock.ops.elementwise.beside import Beside, whole_number
from penstock.ops.group.by_length import ByLength, with_size
from penstock.ops.group.pending import Full
from penstock.plan.flow import Piece


def over(ds, **padding):
    return ByLength(Beside(ds._plan, "length", len, whole_number), **padding)


WORDS = Dataset.from_source([np.array([1]), np.array([2, 3])])


def collected(node):
    chunk = WORDS._plan.source.read_many(np.arange(2))
    return node.collect(Full(0, Piece(chunk, np.arange(2)), 2, None), np.empty)


def test_batches_by_length_are_padded():
    assert collected(over(WORDS)).tolist() == [[1, 0], [2, 3]]
    assert collected(over(WORDS, padded_shapes=[3], padding_values=-1)).tolist() == [[1, -1, -1], [2, 3, -1]]


def test_batches_by_length_with_no_padding_need_equal_shapes():
    with pytest.raises(ValueError, match="crop, resize or pad"):
        collected(over(WORDS, no_padding=True))


def test_open_sizes_get_the_given_size():
    assert collected(over(WORDS)).shape == (2, 2)
    node = over(WORDS, padded_shapes=[None])
    assert node.batch(5).padded_shapes == (5,)
    assert node.batch().padded_shapes == [None]


@pytest.mark.parametrize(
    ("shapes", "wanted"),
    [([None], (7,)), ([-1, 3], (7, 3)), ({"x": [None], "y": ()}, {"x": (7,), "y": ()}), (([2], [None]), ((2,), (7,)))],
)
def test_open_sizes_are_filled_in_any_nesting(shapes, wanted):
    assert with_size(shapes, 7) == wanted


def test_the_spec_has_open_sizes():
    ds = Dataset.from_tensor_slices({"x": np.zeros((4, 2), np.float32), "y": ["a"] * 4})
    spec = over(ds).spec()
    assert spec["x"] == ArraySpec((None, 2), np.dtype(np.float32))
    assert spec["y"] == ArraySpec((None,), np.dtype(object))
    assert over(WORDS.map(len)).spec() is None

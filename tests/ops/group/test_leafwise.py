"""Batches made leaf by leaf: each leaf follows the options for it, and errors contain its path."""

from __future__ import annotations

import numpy as np
import pytest

from penstock import Dataset
from penstock.core.frozen import frozen
from penstock.elements.spec import ArraySpec
from penstock.ops.group.leafwise import LeafwiseGrouping


@frozen()
class Scaled(LeafwiseGrouping):
    """The sum of each leaf's numbers times 1 for the first leaf, 2 for the second, and so on."""

    def told(self, structure):
        return range(1, structure.num_leaves + 1)

    def leaf(self, column, told, origin, allocate):
        if min(column) < 0:
            raise ValueError(f"{origin.operation}: negative{origin.where}, rows {origin.rows.tolist()}")
        return sum(column) * told

    def leaf_spec(self, leaf, told, size, origin):
        return ArraySpec((), leaf.dtype)


def scaled(data, size):
    return Dataset(Scaled(Dataset.from_tensor_slices(data)._plan, size))


def test_each_leaf_follows_its_instructions():
    ds = scaled({"b": [1, 2, 3], "a": [10, 20, 30]}, 2)
    assert list(ds) == [{"b": 6, "a": 30}, {"b": 6, "a": 30}]
    assert ds.element_spec == {"b": ArraySpec((), "i8"), "a": ArraySpec((), "i8")}


def test_an_error_names_the_leaf_and_the_rows():
    with pytest.raises(ValueError, match=r'scaled: negative at \["b"\], rows \[2, 3\]') as caught:
        list(scaled({"b": np.array([1, 2, 3, -4]), "a": np.arange(4)}, 2))
    assert "at row 1" in caught.value.__notes__[0]


def test_shapes_learned_from_one_element_do_not_apply_to_others():
    @frozen()
    class Kept(Scaled):
        def leaf_spec(self, leaf, told, size, origin):
            return leaf

    plan = Dataset.from_tensor_slices(np.zeros((4, 2)))._plan
    assert Kept(plan, 2).spec() == ArraySpec((2,), "f8")
    assert Kept(plan, 2, shapes_known=False).spec() == ArraySpec((None,), "f8")

"""One argument for all leaves, or one for each."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.core.errors import ElementError
from penstock.elements.nested.per_leaf import as_shape, filled, fits, is_shape, shape_per_leaf
from penstock.elements.nested.structure import LEAF, flatten


def shapes(given, element):
    return shape_per_leaf(given, flatten(element)[1], argument="pad(shapes=", wanted="a shape")


@pytest.mark.parametrize(
    ("given", "element", "wanted"),
    [
        (None, (1, 2), [None, None]),
        ([3], 1, [(3,)]),
        ([3], {"a": 1, "b": (2, 3)}, [(3,)] * 3),
        ({"b": [1], "a": (None, 2)}, {"a": 1, "b": 2}, [(None, 2), (1,)]),
        ({"a": None, "b": ()}, {"a": 1, "b": 2}, [None, ()]),
        ({"a": 24, "b": -1}, {"a": 1, "b": 2}, [(24,), (None,)]),  # sizes of one dimension
        ({"a": None, "b": [4]}, {"a": (1, {"c": 2}), "b": 3}, [None, None, (4,)]),  # for a part of the nesting
        (([1], 2), (1, 2), [(1,), (2,)]),
        (([1], [2]), (1, 2), [(1,), (2,)]),
        ((3, None), (1, 2), [(3, None)] * 2),  # sizes, and not a shape for each of the two
        ((None, None), (1, 2), [None, None]),
        ([], (1, 2), [(), ()]),
        ([[1], [2]], [1, 2], [(1,), (2,)]),
    ],
)
def test_one_value_or_a_nesting_of_values_applies_to_leaves(given, element, wanted):
    assert shapes(given, element) == wanted


@pytest.mark.parametrize(
    ("given", "element"),
    [
        (3, 1),
        ("text", 1),
        ([3.5], 1),
        ([True], 1),
        ([-2], 1),
        ({"a": [1]}, {"a": 1, "b": 2}),
        ({"a": [1], "c": [1]}, {"a": 1, "b": 2}),
        (([1], [2], [3]), (1, 2)),
        (([1], 2.5), (1, 2)),
    ],
)
def test_other_nestings_of_values_are_refused(given, element):
    with pytest.raises(ElementError) as caught:
        shapes(given, element)
    nesting = repr(flatten(element)[1])
    assert str(caught.value) == (
        f"pad(shapes={given!r}): expected a shape, or one for each leaf in the nesting {nesting}"
    )


def test_sizes_and_shapes_become_tuples():
    assert is_shape(np.array([3, -1]))
    assert not is_shape(np.array([3.0]))
    assert not is_shape(np.array(3))
    assert as_shape(np.array([3, -1])) == (3, None)
    assert type(as_shape(np.array([3]))[0]) is int
    assert as_shape(None) is None
    assert fits((), ())
    assert not fits((2, 3), (2,))
    assert filled((None, 4, None), (2, 3, None)) == (2, 4, None)
    assert flatten(0)[1] == LEAF

"""Batches taken apart."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.core.errors import ElementError
from penstock.elements.chunks.chunk import Columns, Items
from penstock.elements.chunks.unstacking import unstacked
from penstock.elements.nested.structure import LEAF, flatten
from penstock.elements.ragged import Ragged
from penstock.testing.laws import same

BATCHES = [
    {"x": np.arange(6.0).reshape(3, 2), "y": np.arange(3), "s": np.array(["a", "b", "c"], object)},
    {"x": np.arange(4.0).reshape(2, 2), "y": np.arange(2), "s": np.array(["d", "e"], object)},
]


def test_elements_of_all_batches_come_one_after_another():
    elements, counts = unstacked(Items(BATCHES))
    assert counts.tolist() == [3, 2]
    assert [element["y"] for element in elements.elements()] == [0, 1, 2, 0, 1]
    assert same(elements.elements()[4], {"x": np.array([2.0, 3.0]), "y": 1, "s": "e"})


def test_unbatching_does_not_depend_on_the_form_of_batches():
    first = BATCHES[0]
    leaves, structure = flatten(first)
    for chunk in (Items([first]), Columns(structure, [leaf[None] for leaf in leaves], 1)):
        elements, counts = unstacked(chunk)
        assert counts.tolist() == [3]
        assert all(map(same, elements.elements(), unstacked(Items(BATCHES))[0].elements()[:3]))


def test_texts_of_numpy_become_texts():
    for column in (np.array([["a", "b"]]), np.array([["a", "b"]], object)):
        assert same(unstacked(Columns(LEAF, [column], 1))[0].elements(), ["a", "b"])


def test_ragged_batches_are_split_into_rows():
    elements, counts = unstacked(Items([Ragged.from_rows([[1, 2], []]), Ragged.from_rows([[3]])]))
    assert counts.tolist() == [2, 1]
    assert [row.tolist() for row in elements.elements()] == [[1, 2], [], [3]]


def test_no_batches_have_no_elements():
    elements, counts = unstacked(Items([]))
    assert (len(elements), counts.tolist()) == (0, [])


@pytest.mark.parametrize(
    ("batch", "says"),
    [
        ({"x": np.arange(2), "y": np.arange(3)}, r'\["y"\] has 3 rows and \["x"\] has 2'),
        ({"x": np.arange(2), "y": 3}, r'3 at \["y"\] is of type int, which has no first dimension'),
        (np.float32(1), "is of type float32, which has no first dimension"),
        ("text", "is of type str, which has no first dimension"),
        ({"none": None}, "has no leaf"),
    ],
)
def test_values_that_are_no_batches_are_named(batch, says):
    good = {"x": np.arange(2), "y": np.arange(2)}
    with pytest.raises(ElementError, match=says) as caught:
        unstacked(Items([good, batch]))
    assert caught.value.element == 1


def test_columns_of_scalars_are_refused():
    with pytest.raises(ElementError, match="no first dimension"):
        unstacked(Columns(LEAF, [np.arange(3)], 3))

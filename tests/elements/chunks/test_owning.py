"""Results are told apart from the elements that they were made of, whatever chunk those come from."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.elements.chunks.chunk import Columns, Fresh, Items, Kept
from penstock.elements.chunks.owning import each_owned, elements_and_origins
from penstock.elements.nested.structure import flatten
from penstock.elements.ragged import Ragged

BUFFER = np.zeros(1)
ROW = flatten({"x": 0})[1]


def chunks():
    def rows():
        return [{"x": np.full(2, n)} for n in range(3)]

    uneven = Ragged.from_rows([[1.0], [2.0, 3.0], []])
    return [Items(rows()), Fresh(rows()), Kept(rows()), Columns(ROW, [np.zeros((3, 2))], 3), Columns(ROW, [uneven], 3)]


@pytest.mark.parametrize("chunk", chunks(), ids=lambda chunk: type(chunk).__name__)
def test_an_array_of_the_element_stays_and_one_that_is_added_to_it_does_not(chunk):
    elements, origins = elements_and_origins(chunk)

    def added(element):
        element["y"] = BUFFER
        return {**element, "again": element["x"]}

    given = [element["x"] for element in elements]
    made = list(each_owned(map(added, elements), elements, origins))
    assert all(one["x"] is one["again"] is x for one, x in zip(made, given, strict=True))
    assert not any(one["y"] is BUFFER for one in made)

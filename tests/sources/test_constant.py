from __future__ import annotations

import numpy as np
import pytest

from penstock.core.errors import ElementError
from penstock.elements.ragged import Ragged
from penstock.elements.sparse import Sparse
from penstock.elements.spec import ArraySpec, ObjectSpec, RaggedSpec
from penstock.sources.constant import constant


def test_from_tensors_has_one_element_with_lists_as_arrays():
    source = constant({"x": [1, 2], "name": "a", "n": 3, "names": ["a", "b"]})
    assert source.length == 1
    chunk = source.read_many(np.array([0, 0]))
    assert len(chunk) == 2
    element = chunk.elements()[1]
    assert element["x"].tolist() == [1, 2]
    assert (element["name"], element["n"]) == ("a", 3)
    assert element["names"].tolist() == ["a", "b"]
    assert source.spec() == {
        "x": ArraySpec((2,), "i8"),
        "name": ObjectSpec(str),
        "n": ArraySpec((), "i8"),
        "names": ArraySpec((2,), object),
    }


def test_a_function_cannot_change_the_element_for_the_next_epoch():
    array = np.zeros(2)
    element = constant(array).read_many(np.array([0])).elements()[0]
    with pytest.raises(ValueError, match="read-only"):
        element[0] = 1
    array[0] = 1  # the caller's own stays writable


@pytest.mark.parametrize("nothing", [None, {}, ()])
def test_a_structure_without_values_is_refused(nothing):
    with pytest.raises(ElementError, match="the structure has no value"):
        constant(nothing)


def test_the_fingerprint_follows_the_value():
    values = [1, 1.0, "1", np.int64(1), np.zeros(2), np.ones(2), np.zeros(2, "f4"), {"a": 1}, {"b": 1}]
    assert len({constant(value).fingerprint() for value in values}) == len(values)
    assert constant([1, 2]).fingerprint() == constant(np.array([1, 2])).fingerprint()


def test_ragged_and_sparse_leaves_are_kept_whole():
    ragged, sparse = Ragged.from_rows([[1], [2, 3]]), Sparse.from_dense([0, 5])
    source = constant({"r": ragged, "s": sparse})
    assert source.spec()["r"] == RaggedSpec((2, None), "i8")
    element = source.read_many(np.array([0])).elements()[0]
    assert element == {"r": ragged, "s": sparse}
    assert not element["r"].writeable
    assert not element["s"].writeable
    others = [ragged[1:], Ragged([1, 2, 4], [0, 1, 3]), sparse, Sparse.from_dense([0, 5, 0])]
    assert len({constant(leaf).fingerprint() for leaf in [ragged, *others]}) == 5

"""Elements of zeros, and flags."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.core.errors import ElementError
from penstock.elements.chunk import Columns, Items
from penstock.elements.padding import flag_at, flagged, flagged_spec, zero, zero_of, zeroed
from penstock.elements.ragged import Ragged
from penstock.elements.sparse import Sparse
from penstock.elements.spec import spec_of
from penstock.elements.structure import LEAF, flatten
from penstock.testing.laws import same

DENSE = {"x": np.ones((2, 3), np.float32), "n": np.uint8(3), "t": np.datetime64("2020-01-01"), "s": "text", "b": b"b"}


def test_a_zero_has_the_types_shapes_and_dtypes_of_the_element():
    element = {**DENSE, "python": (1, 2.5, True, 1j), "texts": np.array(["a", b"b"], object), "none": None}
    made = zero(element)
    assert spec_of(made) == spec_of(element)
    assert made["x"].sum() == 0
    assert made["n"] == 0
    assert (made["s"], made["b"], made["python"]) == ("", b"", (0, 0.0, False, 0j))
    assert made["texts"].tolist() == ["", b""]


def test_the_spec_tells_the_same_zero_where_it_tells_everything():
    assert same(zero_of(spec_of(DENSE)), zero(DENSE))
    assert zero_of(None) is None
    assert zero_of(spec_of({"x": 1, "o": object()})) is None


def test_ragged_and_sparse_rows_have_none():
    assert len(zero(Ragged.from_rows([[1, 2], [3]]))) == 0
    sparse = zero(Sparse.from_dense(np.eye(3)))
    assert sparse.to_dense().tolist() == np.zeros((3, 3)).tolist()


def test_an_object_has_no_zero():
    with pytest.raises(ElementError, match=r'zero for .* at \["o"\], a set'):
        zero({"o": {1}})


def test_only_the_places_named_become_zeros():
    chunk = Columns(LEAF, [np.arange(1, 4)], 3)
    assert zeroed(chunk, np.array([False, True, True])).elements() == [1, 0, 0]
    assert zeroed(chunk, np.zeros(3, bool)) is chunk


@pytest.mark.parametrize("element", [{"z": 1, "a": 2}, {"valid2": 1, "b": {"c": 2}}, (1, 2), [1], 3])
def test_flags_are_put_into_dicts_and_beside_others(element):
    leaves, structure = flatten(element)
    items = Items([element, element])
    columns = Columns(structure, [[leaf, leaf] for leaf in leaves], 2)
    flags = np.array([True, False])
    made = flagged(items, flags, "valid").elements()
    assert made == flagged(columns, flags, "valid").elements()
    wanted = [{**element, "valid": flag} if isinstance(element, dict) else (element, flag) for flag in (True, False)]
    assert made == wanted
    if isinstance(element, dict):
        assert list(made[0]) == [*element, "valid"]
    assert flagged_spec(spec_of(element), "valid") == spec_of(wanted[0])
    assert flatten(made[0])[0][flag_at(spec_of(element), "valid")] is True


def test_a_key_that_is_taken_is_refused():
    for chunk in (Items([{"valid": 1}]), Columns(flatten({"valid": 0})[1], [[1]], 1)):
        with pytest.raises(ElementError, match="'valid' already; give the flags another name"):
            flagged(chunk, np.array([True]), "valid")

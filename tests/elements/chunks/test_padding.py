"""Elements of zeros, and flags."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.core.errors import ElementError
from penstock.elements.chunks.chunk import Columns, Items
from penstock.elements.chunks.padding import flagged, flagged_spec, lengthened, without_flags, zero, zero_of, zeroed
from penstock.elements.nested.structure import LEAF, flatten
from penstock.elements.ragged import Ragged
from penstock.elements.sparse import Sparse
from penstock.elements.spec import spec_of
from penstock.testing.laws import same

DENSE = {"x": np.ones((2, 3), np.float32), "n": np.uint8(3), "t": np.datetime64("2020-01-01"), "s": "text", "b": b"b"}


def test_a_zero_has_the_structure_types_and_shapes_of_the_element():
    element = {**DENSE, "python": (1, 2.5, True, 1j), "texts": np.array(["a", b"b"], object), "none": None}
    made = zero(element)
    assert spec_of(made) == spec_of(element)
    assert made["x"].sum() == 0
    assert made["n"] == 0
    assert (made["s"], made["b"], made["python"]) == ("", b"", (0, 0.0, False, 0j))
    assert made["texts"].tolist() == ["", b""]


def test_a_complete_spec_gives_the_same_zero():
    assert same(zero_of(spec_of(DENSE)), zero(DENSE))
    assert zero_of(None) is None
    assert zero_of(spec_of({"x": 1, "o": object()})) is None


def test_ragged_and_sparse_rows_have_no_zero():
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
def test_flags_go_into_dicts_or_pairs(element):
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
    memory = [np.full(1, at) for at in range(len(flatten(made[0])[0]))]
    left = [int(array[0]) for array in without_flags(memory, spec_of(element), "valid")]
    assert [flatten(made[0])[0][at] for at in left] == leaves  # all but that of the flag, in the same order


def test_columns_of_batches_have_a_row_of_flags_each():
    columns = Columns(flatten({"x": 0})[1], [np.arange(4).reshape(2, 2)], 2)
    made = flagged(columns, np.array([[True, True], [True, False]]), "valid").elements()
    assert same(made[1], {"x": np.array([2, 3]), "valid": np.array([True, False])})
    assert without_flags(None, spec_of(1), "valid") is None


def test_flags_of_elements_without_a_spec_are_the_only_leaf_of_type_bool():
    numbers, flags = np.empty((2, 3)), np.empty((2, 3), np.bool_)
    assert without_flags([numbers, flags], None, "valid") == [numbers]
    assert without_flags([numbers] * 2, None, "valid") is None
    assert without_flags([flags] * 2, None, "valid") is None


@pytest.mark.parametrize(
    ("leaf", "fill", "wanted"),
    [
        (np.array([1, 2], np.int16), None, np.array([1, 2, 0, 0], np.int16)),
        (np.array([1, 2], np.int16), -1, np.array([1, 2, -1, -1], np.int16)),
        (np.array([[True], [True]]), None, np.array([[True], [True], [False], [False]])),
        (np.array(["a", "b"], object), None, np.array(["a", "b", "", ""], object)),
        (np.array([b"a", b"b"], object), b"-", np.array([b"a", b"b", b"-", b"-"], object)),
        (np.array([["a"], ["b"]], object), "-", np.array([["a"], ["b"], ["-"], ["-"]], object)),
        (np.array(["2020-01-01"] * 2, "M8[D]"), None, np.array(["2020-01-01"] * 2 + ["1970-01-01"] * 2, "M8[D]")),
        (Ragged.from_rows([[1], [2, 3]]), None, Ragged(np.array([1, 2, 3]), [0, 1, 3, 3, 3])),
        (Sparse.from_dense([[0, 1], [1, 0]]), None, Sparse.from_dense([[0, 1], [1, 0], [0, 0], [0, 0]])),
    ],
)
def test_a_leaf_is_extended_by_empty_rows(leaf, fill, wanted):
    assert same(lengthened(leaf, 4, fill, "", "padded_batch", np.empty), wanted)


def test_empty_rows_of_ragged_rows_are_empty_and_keep_their_splits():
    deep = Ragged(Ragged.from_rows([[1], [2, 3]]).with_splits(np.int32), np.array([0, 2], np.int32))
    made = lengthened(deep, 3, None, "", "ragged_batch", np.empty)
    assert made.tolist() == [[[1], [2, 3]], [], []]
    assert made.row_splits.dtype == np.int32


@pytest.mark.parametrize(
    ("leaf", "fill", "error", "message"),
    [
        (np.zeros(1, np.uint8), 0.5, TypeError, r'padded_batch\(padding_values=\): 0.5 for values of uint8 at \["y"\]'),
        (np.zeros(1, np.uint8), -1, ValueError, "-1 does not fit uint8"),
        (np.array(["a"], object), 0, TypeError, r'0 for str at \["y"\]; pass a value of that type'),
        (np.array([b"a"], object), "", TypeError, "'' for bytes"),
        (np.array([{1}], object), None, ElementError, r"would need a zero for \{1\} at"),
    ],
)
def test_values_that_do_not_fit_are_named(leaf, fill, error, message):
    with pytest.raises(error, match=message):
        lengthened(leaf, 2, fill, '["y"]', "padded_batch", np.empty)


def test_an_existing_key_is_refused_for_flags():
    for chunk in (Items([{"valid": 1}]), Columns(flatten({"valid": 0})[1], [[1]], 1)):
        with pytest.raises(ElementError, match="already has 'valid'; choose another name for the mask"):
            flagged(chunk, np.array([True]), "valid")

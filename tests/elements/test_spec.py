from __future__ import annotations

import dataclasses
import enum
import pickle

import numpy as np
import pytest

from penstock.core.errors import ElementError
from penstock.elements.nested.structure import is_leaf
from penstock.elements.ragged import Ragged
from penstock.elements.sparse import Sparse
from penstock.elements.spec import (
    ArraySpec,
    ObjectSpec,
    RaggedSpec,
    SparseSpec,
    batched,
    compatible,
    describe,
    relax,
    sliced,
    spec_of,
    uneven_splits,
)

F4 = np.dtype("f4")


class Tensor:
    def __array__(self, dtype=None, copy=None):
        return np.zeros((2, 2), np.float32)


class Color(enum.IntEnum):
    RED = 1


@dataclasses.dataclass
class Example:
    image: object


@pytest.mark.parametrize(
    ("leaf", "expected"),
    [
        (3, "int64"),
        (True, "bool"),
        (1.5, "float64"),
        (1j, "complex128"),
        (Color.RED, "int64"),
        (np.float16(1), "float16"),
        (np.uint8(1), "uint8"),
        (np.zeros((), ">i4"), ">i4"),
        (np.zeros((0, 3), "u1"), "uint8[0, 3]"),
        (np.zeros(2, "M8[s]"), "datetime64[s][2]"),
        (b"x", "bytes"),
        ("x", "str"),
        (np.str_("x"), "str"),
        (np.bytes_(b"x"), "bytes"),
        (Tensor(), "float32[2, 2]"),
        ({1}, "set"),
    ],
)
def test_the_spec_of_a_leaf(leaf, expected):
    assert repr(spec_of(leaf)) == expected


def test_a_spec_has_the_structure_of_the_element():
    element = Example({"b": (np.zeros(3, "f4"), None), "a": [1]})
    spec = spec_of(element)
    assert spec == Example({"b": (ArraySpec((3,), F4), None), "a": [ArraySpec((), np.dtype("i8"))]})
    assert describe(spec) == 'Example(image={"b": (float32[3], None), "a": [int64]})'
    assert describe(None) == "unknown"


def test_specs_are_leaves_hashable_and_picklable():
    spec = ArraySpec((None, 3), "f4")
    assert is_leaf(spec)
    assert spec == ArraySpec((None, 3), F4)
    assert hash(spec) == hash(ArraySpec((None, 3), F4))
    assert pickle.loads(pickle.dumps(spec)) == spec
    assert not spec.known


def test_batched_adds_a_dimension_and_sliced_takes_it_away():
    spec = {"x": ArraySpec((2, None), F4), "y": ArraySpec((), F4)}
    assert repr(batched(spec, None)) == "{'x': float32[?, 2, ?], 'y': float32[?]}"
    assert sliced(batched(spec, 8)) == spec
    assert batched(ObjectSpec(bytes), 8) == ArraySpec((8,), object)
    assert sliced(ArraySpec((8,), object)) == ObjectSpec(object)
    assert sliced(ArraySpec((8,), "U3")) == ObjectSpec(str)
    assert batched(None, 3) is None


@pytest.mark.parametrize("leaf", [ArraySpec((), F4), ObjectSpec(str)])
def test_values_without_a_first_dimension_cannot_be_sliced(leaf):
    with pytest.raises(ElementError, match=r'at \["x"\]: it has no first dimension'):
        sliced({"x": leaf})


@pytest.mark.parametrize(
    ("first", "second", "relaxed"),
    [
        (ArraySpec((2, 3), F4), ArraySpec((4, 3), F4), ArraySpec((None, 3), F4)),
        (ArraySpec((2,), F4), ArraySpec((2,), "f8"), None),
        (ArraySpec((2,), F4), ArraySpec((2, 1), F4), None),
        (ObjectSpec(str), ObjectSpec(bytes), ObjectSpec(object)),
        (ObjectSpec(str), ArraySpec((), F4), None),
        ({"a": ObjectSpec(str)}, {"b": ObjectSpec(str)}, None),
        ((ObjectSpec(str),), (ObjectSpec(str),), (ObjectSpec(str),)),
        (None, ObjectSpec(str), None),
    ],
)
def test_relax_gives_the_narrowest_common_spec(first, second, relaxed):
    assert relax(first, second) == relaxed
    assert relax(second, first) == relaxed


@pytest.mark.parametrize(
    ("first", "second", "fits"),
    [
        (ArraySpec((None, 3), F4), ArraySpec((4, 3), F4), True),
        (ArraySpec((2, 3), F4), ArraySpec((4, 3), F4), False),
        (ArraySpec((2,), F4), ArraySpec((2,), "f8"), False),
        (ObjectSpec(object), ObjectSpec(str), True),
        (ObjectSpec(bytes), ObjectSpec(str), False),
        (ObjectSpec(bytes), (ObjectSpec(bytes),), False),
    ],
)
def test_compatible_specs_agree_in_known_parts(first, second, fits):
    assert compatible(first, second) is fits
    assert compatible(second, first) is fits


def test_ragged_and_sparse_leaves():
    ragged = Ragged(np.zeros((3, 2), np.float32), [0, 1, 3])
    sparse = Sparse.from_dense(np.zeros((4, 5), np.float32))
    spec = spec_of({"r": ragged, "s": sparse})
    assert spec == {"r": RaggedSpec((2, None, 2), F4), "s": SparseSpec((4, 5), F4)}
    assert all(map(is_leaf, spec.values()))
    assert describe(spec) == '{"r": ragged float32[2, ~, 2], "s": sparse float32[4, 5]}'
    assert describe(batched(spec, 8)) == '{"r": ragged float32[8, ~, ~, 2], "s": sparse float32[8, 4, 5]}'
    assert describe(sliced(spec)) == '{"r": float32[~, 2], "s": sparse float32[5]}'
    assert sliced(sliced(spec["s"])) == ArraySpec((), F4)
    assert sliced(batched(spec, 8)) == {"r": RaggedSpec((None, None, 2), F4), "s": SparseSpec((4, 5), F4)}
    assert repr(spec_of(Ragged([1], np.int32([0, 1])))) == "ragged int64[1, ~] with int32 splits"


def test_ragged_and_sparse_specs_relax():
    ragged, sparse = RaggedSpec((2, None), F4), SparseSpec((2, 3), F4)
    assert relax(ragged, RaggedSpec((3, None), F4)) == RaggedSpec((None, None), F4)
    assert relax(ragged, RaggedSpec((2, None), F4, 1, np.int32)) == ragged
    assert relax(sparse, SparseSpec((2, 4), F4)) == SparseSpec((2, None), F4)
    others = [
        ArraySpec((2, 3), F4),
        ObjectSpec(Ragged),
        RaggedSpec((2, None, None), F4, 2),
        RaggedSpec((2, None), "f8"),
    ]
    for other in [*others, sparse]:
        assert relax(ragged, other) is None
        assert not compatible(ragged, other)
    assert compatible(ragged, RaggedSpec((None, None), F4))
    assert not compatible(ragged, RaggedSpec((3, None), F4))


def test_rows_of_ragged_know_that_their_lengths_differ():
    row = sliced(RaggedSpec((4, None, 2), F4, 1, np.int32))
    assert row == ArraySpec((None, 2), F4, np.dtype(np.int32))
    assert repr(row) == "float32[~, 2]"
    plain = ArraySpec((None, 2), F4)
    assert relax(row, row) == row
    assert relax(row, ArraySpec((None, 2), F4, np.dtype(np.int64))).row_splits_dtype == np.int64
    assert relax(row, plain) == relax(plain, row) == plain
    assert compatible(row, plain)
    assert batched(row, 3) == ArraySpec((3, None, 2), F4)
    assert uneven_splits(None) is None
    assert uneven_splits((plain, SparseSpec((5,), F4))) is None
    assert uneven_splits((plain, SparseSpec((None,), F4))) == (None, None)
    assert uneven_splits({"a": row, "b": plain}) == (np.int32, None)

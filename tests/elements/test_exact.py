"""Values that travel as JSON and come back to the last bit."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from penstock import Ragged, Sparse
from penstock.elements.exact import MOST_BYTES, classes_in, copied, decoded, encoded
from penstock.testing.laws import difference


class Moments(NamedTuple):
    count: int
    mean: Any


@dataclass(frozen=True)
class Running:
    best: float
    seen: Any


def there_and_back(value, classes=()):
    made = encoded(value, classes)
    assert made is not None
    return decoded(json.loads(json.dumps(made.data)), classes)


PYTHON = st.one_of(
    *(st.none(), st.booleans(), st.integers(), st.floats(), st.complex_numbers(), st.text(), st.binary(max_size=9)),
)
DTYPES = st.one_of(
    *(npst.boolean_dtypes(), npst.integer_dtypes(endianness="?"), npst.floating_dtypes(endianness="?")),
    *(npst.complex_number_dtypes(), npst.datetime64_dtypes(), npst.unicode_string_dtypes(min_len=1)),
)
ARRAYS = npst.arrays(DTYPES, npst.array_shapes(min_dims=0, min_side=0, max_side=3))
SCALARS = ARRAYS.filter(lambda array: array.size and array.dtype.itemsize).map(lambda array: array.ravel()[0])
RAGGED = st.one_of(
    npst.arrays(np.float32, st.just((6, 2))).map(lambda values: Ragged(values, [0, 1, 1, 6])),
    npst.arrays(np.int16, st.just(4)).map(lambda values: Ragged(Ragged(values, np.int32([0, 3, 4])), [0, 0, 2])),
)
SPARSE = npst.arrays(np.float64, npst.array_shapes(min_dims=1, min_side=0, max_side=3)).map(Sparse.from_dense)
NESTINGS = st.recursive(
    PYTHON | ARRAYS | SCALARS | RAGGED | SPARSE,
    lambda inner: st.one_of(
        *(st.lists(inner, max_size=3), st.tuples(inner, inner), st.dictionaries(st.text() | st.integers(), inner)),
    ),
    max_leaves=5,
)


@given(NESTINGS)
def test_every_bit_type_and_dtype_is_restored(value):
    assert difference(there_and_back(value), value) is None


def test_equal_values_of_different_types_are_distinguished():
    values = [1, True, 1.0, np.int64(1), np.int32(1), np.float64(1), np.array(1), [1], (1,)]
    for value in values:
        assert type(there_and_back(value)) is type(value)


@pytest.mark.parametrize("bits", [0x7FF8000000000000, 0xFFF8000000000001, 0x7FF800000000BEEF])
def test_a_nan_keeps_its_payload(bits):
    nan = np.array(bits, np.uint64).view(np.float64)
    for value in (nan[()], float(nan), np.stack([nan, nan])):
        assert np.asarray(there_and_back(value)).tobytes() == np.asarray(value).tobytes()


def test_the_order_of_keys_is_restored():
    assert list(there_and_back({"z": 1, "a": 2, 3: 4})) == ["z", "a", 3]


def test_known_named_tuples_and_dataclasses_are_restored():
    value = Moments(3, {"run": Running(0.5, np.arange(2))})
    classes = classes_in(value)
    assert classes == (Moments, Running)
    assert difference(there_and_back(value, classes), value) is None
    assert encoded(value) is None
    assert encoded(value, (Moments,)) is None


def test_decoded_arrays_are_writable():
    array = there_and_back(np.zeros(3))
    array += 1
    assert array.tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    "value",
    [object(), {1, 2}, np.array([None]), np.zeros(2, [("x", "i4")]), np.ma.zeros(2), [1, object()], {"a": lambda: 0}],
    ids=lambda value: type(value).__name__,
)
def test_other_objects_are_not_encoded(value):
    assert encoded(value) is None


def test_a_value_within_itself_is_not_encoded():
    value = []
    value.append(value)
    assert encoded(value) is None


def test_values_over_a_mebibyte_are_not_encoded():
    assert encoded(np.zeros(MOST_BYTES, np.uint8)) is not None
    assert encoded(np.zeros(MOST_BYTES + 8, np.uint8)) is None
    assert encoded(b"x" * (MOST_BYTES + 8)) is None
    assert encoded([0] * MOST_BYTES) is None
    assert encoded(1 << 8 * 3 * MOST_BYTES) is None


def test_the_size_is_about_that_of_the_data():
    for value in ("a" * 1000, np.zeros(1000), [b"abc" * 100] * 3, 1 << 8000):
        made = encoded(value)
        assert made is not None
        assert 0.5 < len(json.dumps(made.data)) / made.size < 2


def test_a_copy_shares_no_array_and_no_container():
    value = {"a": [np.zeros(2), (np.zeros((2, 3), order="F").T, "x")], "o": (opaque := object())}
    copy = copied(value)
    assert copy["o"] is opaque
    copy["a"][0] += 1
    copy["a"][1][0][:] = 5
    copy["a"].append(3)
    assert value["a"][0].tolist() == [0, 0]
    assert value["a"][1][0].max() == 0
    assert len(value["a"]) == 2
    assert copied(7) == 7

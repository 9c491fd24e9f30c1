"""Numbers from one dtype to another."""

from __future__ import annotations

import numpy as np
import pytest

from tests.tracing.comparing import in_columns, trace_of, verify

HUGE = np.array([2**60 + 1, -(2**53) - 1, 3])
FLOATS = np.array([0.1, -2.7, 1e20, -1e300])


@pytest.mark.parametrize(
    "dtype", [np.float32, np.float16, np.int32, np.uint8, np.bool_, "f8", np.dtype("i2"), float, int]
)
def test_arrays_are_cast_as_numpy_casts_them(dtype):
    with np.errstate(over="ignore"):
        verify(lambda x: x.astype(dtype), np.arange(-300, 300).reshape(-1, 3))
        verify(lambda x: x.astype(dtype), np.arange(60, dtype=np.float32).reshape(-1, 3))


@pytest.mark.parametrize("number", [256.0, -1.0, np.nan, np.inf])
def test_floats_beyond_the_integers_are_left_to_the_function(number):
    column = np.array([[1.5], [number]])
    assert in_columns(lambda x: x.astype(np.uint8), column) is None
    verify(lambda x: x.astype(np.uint8), column[:1])


@pytest.mark.parametrize("cls", [np.float32, np.float64, np.float16, np.bool_, np.int64])
def test_python_numbers_become_numpy_scalars(cls):
    with np.errstate(over="ignore"):
        verify(lambda x: cls(x), HUGE)


def test_floats_in_range_become_integers():
    verify(lambda x: (np.int32(x), int(x), bool(x)), FLOATS[:2])
    assert in_columns(np.int32, FLOATS) is None
    assert in_columns(int, np.array([np.nan])) is None
    assert in_columns(np.int8, np.array([300])) is None


@pytest.mark.parametrize("dtype", ["u1", "i4", "u8", "f2", "f4"])
def test_numpy_scalars_become_python_numbers(dtype):
    column = np.arange(4).astype(dtype)
    verify(lambda x: (float(x), int(x), bool(x), x.item()), column)


def test_an_integer_beyond_64_bits_signed_is_left_to_the_function():
    assert in_columns(int, np.array([2**63], np.uint64)) is None


def test_a_type_called_on_an_array_of_its_dtype_returns_the_array():
    def changed(x):
        y = np.float32(x)
        y += 1
        return y

    verify(np.float32, np.ones((2, 3), np.float32))
    verify(changed, np.ones((2, 3)))
    assert trace_of(changed, np.ones((2, 3), np.float32)) is None


@pytest.mark.parametrize(
    "function",
    [lambda x: x.astype("M8[s]"), lambda x: x.astype(complex), lambda x: x.astype(object), lambda x: float(x)],
)
def test_other_dtypes_are_not_traced(function):
    assert trace_of(function, np.ones((2, 3))) is None

"""Operators and universal functions of arrays and NumPy scalars."""

from __future__ import annotations

import numpy as np
import pytest

from tests.tracing.comparing import alone, in_columns, trace_of, verify

BYTES = np.arange(24, dtype=np.uint8).reshape(4, 2, 3)
FLOATS = np.linspace(-2, 2, 24, dtype=np.float32).reshape(4, 2, 3)
ROW = np.array([0.25, 0.5, 1.0])


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x + 1,
        lambda x: 255 - x,
        lambda x: x / 255,
        lambda x: x * ROW,
        lambda x: x - [1, 2, 3],
        lambda x: x[0] * x[:, :1],
        lambda x: -(x.astype(float) ** 2),
        lambda x: x**0.5 + x**3,
        lambda x: np.add(x, 1.5) > np.float32(3),
        lambda x: np.maximum(x, 3) & 6,
        lambda x: np.multiply(x, 2, dtype=np.float32),
    ],
)
@pytest.mark.parametrize("columns", [BYTES, BYTES.astype(np.int32) * 7])
def test_columns_equal_elements(function, columns):
    verify(function, columns)


def test_a_python_number_takes_the_dtype_of_the_array():
    verify(lambda x, n: x * n, (BYTES, np.arange(4)))
    verify(lambda x, n: x * n, (FLOATS, np.arange(4.0) / 3))
    verify(lambda x, n: x * n, (FLOATS, np.array([True, False, True, True])))


def test_python_numbers_that_do_not_fit_leave_the_rows_to_the_function():
    assert in_columns(lambda x, n: x + n, (BYTES, np.array([0, 255, 256, 1]))) is None
    assert in_columns(lambda x, n: x + n, (BYTES, np.array([0, -1, 2, 1]))) is None


@pytest.mark.parametrize(
    ("function", "numbers"),
    [
        (lambda x: x + np.int8(1), [1, 127]),
        (lambda x: x * x, [1, 12]),
        (lambda x: -x, [1, -128]),
        (abs, [1, -128]),
        (lambda x: np.int8(7) // x, [1, 0]),
        (lambda x: np.int8(7) % x, [1, 0]),
    ],
)
def test_overflowing_scalars_are_left_to_the_function(function, numbers):
    column = np.array(numbers, np.int8)
    verify(function, column[:1])
    assert in_columns(function, column) is None


def test_fresh_memory_may_be_written_to():
    def normalised(x):
        y = x.astype(np.float32)
        z = y
        y /= 255
        y -= ROW
        return {"y": y, "z": z, "x": x}

    verify(normalised, BYTES)


def test_rebinding_a_name_is_no_write():
    def counted(x):
        y = x
        y += 1
        return x, y

    verify(counted, np.arange(3))
    verify(counted, np.arange(3, dtype=np.float32))


def in_the_elements_memory(x):
    x += 1
    return x


def in_a_views_memory(x):
    y = x * 2
    z = y[:1]
    y += 1
    return y, z


def into_a_narrower_dtype(x):
    y = x * 1
    y /= 2
    return y


def into_a_larger_shape(x):
    y = x[0] * 1
    y += x
    return y


@pytest.mark.parametrize(
    "function",
    [
        in_the_elements_memory,
        in_a_views_memory,
        into_a_narrower_dtype,
        into_a_larger_shape,
        lambda x: np.add(x, 1, out=np.zeros((2, 3))),
        lambda x: x @ x.T,
        lambda x: np.add.reduce(x),
        lambda x: np.modf(x * 0.5),
        lambda x: 2.0**x,
    ],
)
def test_operations_that_may_differ_are_not_traced(function):
    assert trace_of(function, BYTES) is None


def test_powers_of_scalars_are_exact():
    assert trace_of(lambda x: x**3, FLOATS[:, 0, 0]) is None


def test_division_by_zero_and_overflow_of_arrays_follow_numpy():
    with np.errstate(all="ignore"):
        verify(lambda x: (1 / x, x * np.uint8(200), x // 0), BYTES)
    with np.errstate(all="raise"):
        assert in_columns(lambda x: 1 / x, BYTES) is None
        with pytest.raises(FloatingPointError):
            alone(lambda x: 1 / x, BYTES)

"""Arrays made of several."""

from __future__ import annotations

import numpy as np
import pytest

from tests.tracing.comparing import in_columns, trace_of, verify

X, Y = np.arange(12.0).reshape(2, 2, 3), np.arange(12, dtype=np.float32).reshape(2, 2, 3)
ROWS = np.ones((2, 3))


@pytest.mark.parametrize(
    "function",
    [
        lambda x, y: np.concatenate([x, y, ROWS]),
        lambda x, y: np.concatenate((x, y[:, :2]), axis=1),
        lambda x, y: np.stack([x, y], axis=-1),
        lambda x, y: np.array([x, y], np.float32),
        lambda x, y: np.hstack([x, ROWS]),
        lambda x, y: np.hstack([x[0], y[1]]),
        lambda x, y: np.vstack([x, y]),
        lambda x, y: np.vstack([x[0], y[0], ROWS[0]]),
    ],
)
def test_joined_columns_equal_joined_elements(function):
    verify(function, (X, Y))


def test_single_numbers_become_an_array():
    numbers = (np.arange(3), np.arange(3.0) / 3, np.arange(3, dtype=np.float32), np.array([True, False, True]))
    verify(lambda i, f, s, b: np.array([i, f, s, b, 2, np.int8(1)]), numbers)
    verify(lambda i, f, s, b: np.array([i, f, s, b], np.float32), numbers)
    verify(lambda i, f, s, b: np.stack([i, b]), numbers)
    verify(lambda i, f, s, b: np.array([i, s], np.uint8), numbers)


def test_a_number_that_does_not_fit_is_left_to_the_function():
    assert in_columns(lambda x: np.array([x, 0], np.uint8), np.array([1, 256])) is None


@pytest.mark.parametrize(
    "function",
    [
        lambda x, y: np.stack([x.T, y.T]),
        lambda x, y: np.array([x[0, 0], y]),
        lambda x, y: np.array([[x, y], [y, x]]),
        lambda x, y: np.concatenate([x, y], axis=None),
    ],
)
def test_other_calls_are_not_traced(function):
    assert trace_of(function, (X, Y)) is None

"""Methods, attributes and functions of arrays."""

from __future__ import annotations

import numpy as np
import pytest

from tests.tracing.comparing import in_columns, trace_of, verify

ROWS = np.linspace(-2, 2, 24).reshape(2, 3, 4)
NUMBERS = np.linspace(-2, 2, 9)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.where(x > 0, x, 0),
        lambda x: np.where(x[:, :1] > 0, x, np.arange(4)),
        lambda x: np.clip(x, -1, 1),
        lambda x: x.clip(0, None),
        lambda x: x.clip(min=0.5, max=1),
        lambda x: np.round(x, 1) + x.round(),
        lambda x: np.array(x),
        lambda x: np.array(x, dtype=np.float32),
        lambda x: np.asarray(x, np.float32) + np.asarray(x),
        lambda x: np.ascontiguousarray(x.T),
        lambda x: x[:, ::2].copy() * 2,
        lambda x: np.zeros_like(x) + np.ones_like(x, dtype=np.int32) + np.full_like(x, 3),
        lambda x: x * x.size + x.ndim - len(x) + x.itemsize,
        lambda x: x.reshape(x.shape[1], -1) if x.dtype.kind == "f" else x,
        lambda x: (np.shape(x), np.ndim(x), np.size(x), x.nbytes),
    ],
)
def test_columns_equal_elements(function):
    verify(function, ROWS)


def test_where_converts_python_numbers_as_numpy_does():
    rows = ROWS.astype(np.float32)
    verify(lambda x, n: np.where(x > n, x, n), (rows, np.array([0.1, 0.2])))
    verify(lambda x, n: np.where(n, x, 1), (rows, np.array([True, False])))


def test_numbers_are_clipped_and_rounded():
    verify(lambda x: (np.clip(x, -1, 1), np.round(x, 1)), NUMBERS)
    verify(lambda x: (np.clip(x, 0, 5), np.round(x)), np.arange(-3, 9))


def test_a_choice_between_numbers_is_an_array_without_dimensions_and_not_traced():
    assert trace_of(lambda x: np.where(x > 0, x, 0), NUMBERS) is None


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.tolist(),
        lambda x: x.item(),
        lambda x: x.sort(),
        lambda x: x.astype(float, copy=False),
        lambda x: x.clip(x[0], 3),
        lambda x: np.asarray(x[0, 0]),
        lambda x: x.dot(x.T),
        lambda x: x.flat,
        lambda x: np.where(x),
        lambda x: np.array(x.T),
        lambda x: np.linalg.norm(x),
        lambda x: np.einsum("ij->i", x),
    ],
)
def test_other_calls_are_not_traced(function):
    assert trace_of(function, ROWS) is None


def test_shared_memory_is_not_written_to():
    def doubled(x):
        y = np.asarray(x)
        y *= 2
        return y

    assert trace_of(doubled, ROWS) is None
    assert in_columns(lambda x: np.asarray(x), ROWS) is not None

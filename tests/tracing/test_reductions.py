"""Sums, means and extremes of elements equal those of each element alone, bit for bit."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tracing.comparing import trace_of, verify

SHAPES = [(1,), (2,), (7,), (8,), (9,), (127,), (128,), (129,), (8193,), (1, 3), (3, 1), (28, 28), (3, 100), (3, 8, 5)]
NAMES = ["sum", "mean", "std", "var", "max", "min", "prod", "any", "all", "argmax", "argmin", "cumsum", "cumprod"]


def numbers(shape, dtype, rows=3):
    random = np.random.default_rng(math.prod(shape))
    made = (random.normal(size=(rows, *shape)) * 50).astype(dtype)
    made[random.random(made.shape) < 0.2] = 0
    made[random.random(made.shape) < 0.2] *= np.array(-1).astype(dtype)  # zeros of both signs
    return made


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "u1", "i4", "i8", "?"])
def test_every_axis_of_every_shape(name, dtype):
    function = getattr(np, name)
    for shape in SHAPES:
        column = numbers(shape, dtype)
        with np.errstate(all="ignore"):
            if len(shape) == 1 or not name.startswith("cum"):
                verify(lambda x: function(x), column)
            for axis in range(len(shape)):
                verify(lambda x, axis=axis: function(x, axis=axis - len(x.shape)), column)


@given(
    st.lists(st.integers(1, 40), min_size=1, max_size=3),
    st.integers(1, 4),
    st.sampled_from(["f4", "f8"]),
    st.sampled_from([None, -1, 0, (0, -1)]),
)
def test_sums_of_floats_are_taken_in_the_same_pairs(shape, rows, dtype, axis):
    axis = axis if len(shape) > 1 or axis is None else -1
    verify(lambda x: {"sum": x.sum(axis), "mean": x.mean(axis, keepdims=True)}, numbers(shape, dtype, rows))


def test_results_of_reductions_can_be_used_in_arithmetic():
    verify(lambda x: (x - x.mean()) / (x.std(ddof=1) + 1e-6), numbers((5, 3), "f4"))
    verify(lambda x: x / x.sum(axis=-1, keepdims=True), numbers((5, 3), "f8") + 100)
    verify(lambda x: np.eye(5)[x.argmax()], numbers((5,), "f4"))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.T.sum(),
        lambda x: x[:, ::2].mean(),
        lambda x: x.sum(dtype=np.float32),
        lambda x: x.max(initial=0),
        lambda x: x[:0].sum(),
        lambda x: x.cumsum(),
        lambda x: np.median(x),
    ],
)
def test_reductions_that_depend_on_memory_layout_are_not_traced(function):
    assert trace_of(function, numbers((4, 6), "f8")) is None


def test_sums_of_integers_accept_any_memory_layout():
    verify(lambda x: x.T[::2].sum() + x[:, 1].max(), numbers((4, 6), "i4"))


@pytest.mark.parametrize("shape", [(3, 10_000), (2, 8193), (5, 8192), (9, 3000), (2, 5000, 3), (2, 3, 5000)])
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i8"])
def test_elements_longer_than_numpys_buffers_are_summed_in_the_same_order(shape, dtype):
    columns = (np.random.default_rng(0).normal(size=shape) * 50).astype(dtype)
    for function in (np.mean, np.std, lambda x: x.mean(axis=-1), lambda x: (x * 3).sum(axis=0)):
        with np.errstate(over="ignore"):
            verify(function, columns)

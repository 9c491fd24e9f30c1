"""Operations that accept columns."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.tracing.forms import Kind
from penstock.tracing.lanes import EXACT, Operand, Trial, equal, is_exact, same_in_columns

F4 = np.dtype("f4")


def operands(shape, *dtypes, kind=Kind.ARRAY):
    return tuple(Operand(kind, np.dtype(dtype), np.dtype(dtype), shape) for dtype in dtypes)


@pytest.mark.parametrize("ufunc", sorted(EXACT, key=lambda ufunc: ufunc.__name__), ids=lambda ufunc: ufunc.__name__)
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
@pytest.mark.parametrize("shape", [(), (3,), (33,)])
def test_exact_operations_pass_the_trial(ufunc, dtype, shape):
    assert is_exact(ufunc, (np.dtype(dtype),))
    kind = Kind.ARRAY if shape else Kind.NUMPY
    assert same_in_columns(Trial(ufunc, operands(shape, *[dtype] * ufunc.nin, kind=kind), ufunc, ufunc))


def test_integers_are_exact_and_sines_are_not():
    assert is_exact(np.power, (np.dtype("i4"), np.dtype("i4")))
    assert not is_exact(np.sin, (F4,))


def uneven(x):
    """A square root that takes a shorter way at the end of an array."""
    made = np.sqrt(x)
    if made.ndim and made.size % 4:
        made[..., -1] = np.nextafter(made[..., -1], np.float32(np.inf))
    return made


def zeros(x, y):
    """A maximum that takes the second of two zeros in single numbers, and the first in arrays."""
    return np.where((x == y) & (np.size(x) > 1), x, np.maximum(y, x) + 0 * y)[()]


def shortened(x, y):
    """A power that takes another way where there is one exponent, and that is 2."""
    return x * x if np.size(y) == 1 and y == 2 else np.exp2(y * np.log2(x))


@pytest.mark.parametrize("shape", [(), (1,)])
def test_kernels_that_differ_fail_the_trial(shape):
    kind = Kind.ARRAY if shape else Kind.NUMPY
    assert not same_in_columns(Trial("uneven", operands((), F4), uneven, uneven))
    assert not same_in_columns(Trial("zeros", operands(shape, F4, F4, kind=kind), zeros, zeros))


def test_shortcuts_fail_the_trial_in_their_shapes():
    x = operands((7,), F4)
    assert same_in_columns(Trial("shortened", (*x, *x), shortened, shortened))
    assert not same_in_columns(Trial("shortened", (*x, *operands((), F4, kind=Kind.NUMPY)), shortened, shortened))
    two = Operand(Kind.NUMPY, F4, F4, (), np.float32(2).tobytes())
    assert same_in_columns(Trial("shortened", (*x, two), shortened, shortened))


def test_large_elements_are_tried_in_smaller_shapes():
    seen = []

    def function(x, y):
        seen.append((x.shape, y.shape))
        return x + y

    image, row = operands((500, 400, 3), F4), operands((400, 1), F4)
    assert same_in_columns(Trial("sum", (*image, *row), function, np.add))
    assert seen[0] == ((31, 25, 3), (25, 1))


def test_equality_compares_all_bits_except_of_nans():
    nan = np.array([np.nan, -np.nan, 0.0])
    assert equal(nan, -nan + [0, 0, 0.0])
    assert not equal(np.array([0.0]), np.array([-0.0]))
    assert not equal(np.array([1.0]), np.array([np.nan]))
    assert not equal(np.ones(2), np.ones(3))
    assert not equal(np.ones(2), np.ones(2, int))
    assert not equal(np.array([1]), np.array([2]))

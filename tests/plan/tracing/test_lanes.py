"""Which universal functions columns may be given to."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.plan.tracing.lanes import EXACT, equal, is_exact, same_in_columns

F4 = np.dtype("f4")


@pytest.mark.parametrize("ufunc", sorted(EXACT, key=lambda ufunc: ufunc.__name__), ids=lambda ufunc: ufunc.__name__)
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_what_is_said_to_be_exact_passes_the_trial(ufunc, dtype):
    assert is_exact(ufunc, (np.dtype(dtype),))
    assert same_in_columns(ufunc, (np.dtype(dtype),) * ufunc.nin, alone=True)


def test_integers_are_exact_and_sines_are_not():
    assert is_exact(np.power, (np.dtype("i4"), np.dtype("i4")))
    assert not is_exact(np.sin, (F4,))


class Uneven:
    """A square root that takes a shorter way at the end of an array."""

    nin = 1

    def __call__(self, x):
        made = np.sqrt(x)
        if made.ndim and len(made) % 4:
            made[-1] = np.nextafter(made[-1], np.float32(np.inf))
        return made


class Zeros:
    """A maximum that takes the second of two zeros in single numbers, and the first in arrays."""

    nin = 2

    def __call__(self, x, y):
        return np.where((x == y) & (np.size(x) > 1), x, np.maximum(y, x) + 0 * y)[()]


@pytest.mark.parametrize("ufunc", [Uneven(), Zeros()])
def test_kernels_that_differ_are_found(ufunc):
    assert not same_in_columns(ufunc, (F4,) * ufunc.nin, alone=True)


def test_equality_is_of_bits_but_for_those_of_nans():
    nan = np.array([np.nan, -np.nan, 0.0])
    assert equal(nan, -nan + [0, 0, 0.0])
    assert not equal(np.array([0.0]), np.array([-0.0]))
    assert not equal(np.array([1.0]), np.array([np.nan]))
    assert not equal(np.ones(2), np.ones(3))
    assert not equal(np.ones(2), np.ones(2, int))
    assert not equal(np.array([1]), np.array([2]))

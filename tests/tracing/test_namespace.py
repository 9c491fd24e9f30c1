"""NumPy names as seen by a traced function."""

from __future__ import annotations

from collections import namedtuple
from typing import NamedTuple

import numpy as np
import pytest

from penstock.tracing.namespace import is_named_tuple
from tests.tracing.comparing import trace_of, verify

ROWS = np.arange(6.0).reshape(2, 3)
Pair = namedtuple("Pair", "x y")  # noqa: PYI024 - one of both kinds


class Point(NamedTuple):
    x: object
    y: object = 0


class Vector(NamedTuple):
    x: float

    def norm(self):
        return abs(self.x)


def test_only_named_tuples_without_code_count():
    assert is_named_tuple(Pair)
    assert is_named_tuple(Point)
    assert not any(map(is_named_tuple, (Vector, tuple, dict, 3)))


def test_named_tuples_are_supported():
    verify(lambda x: Point(x * 2, x.sum()), ROWS)
    verify(lambda p: Pair(p.y, p.x + 1), Point(ROWS, ROWS))
    assert trace_of(lambda v: v.norm(), Vector(np.arange(3.0))) is None


def test_functions_of_constants_are_computed_once():
    verify(lambda x: x * np.linspace(0, 1, 3) + np.eye(3)[0] - np.finfo(np.float32).eps, ROWS)
    verify(lambda x: (np.full(3, 2.0), np.arange(3).dtype.name == "int64", np.iinfo(np.uint8).max), ROWS)


def test_dtypes_can_be_inspected():
    def widened(x):
        if x.dtype == np.float32 or x.dtype != np.float64:
            return x.astype(np.float64)
        return x * float(np.pi) if np.issubdtype(x.dtype, np.floating) else x

    for dtype in (np.float32, np.float64, np.uint8):
        verify(widened, ROWS.astype(dtype))


def test_new_arrays_may_be_written_to():
    def summed(x):
        total = np.zeros(3)
        total += x
        total *= 2
        return total

    verify(summed, ROWS)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.random.default_rng(0).random(),
        lambda x: np.linalg.norm(x),
        lambda x: np.sort(x),
        lambda x: np.vectorize(abs)(x),
        lambda x: np.frompyfunc(abs, 1, 1)(x),
        lambda x: np.str_(x),
        lambda x: np.zeros(3, out=x),
        lambda x: np.float32.fromhex,
        lambda x: np.nothing_of_the_kind(x),
        lambda x: np.testing,
    ],
)
def test_other_names_give_up(function):
    assert trace_of(function, ROWS) is None

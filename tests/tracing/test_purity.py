"""Requirements on a function that is called one extra time, and once for all elements."""

from __future__ import annotations

import functools
import itertools
import math
import random
import time
from functools import partial

import numpy as np
import pytest

from penstock.elements.spec import ArraySpec
from penstock.tracing.traced import traced
from tests.tracing.comparing import I8, chunk_of, in_columns, trace_of, verify

NUMBERS = np.arange(5)
SCALE, MEAN, SETTINGS = 3, np.array([0.5, 1.5]), {"shift": 2, "steps": [1, 2]}


def shifted(x):
    return x + SETTINGS["shift"]


def scaled(x, by=SCALE, *, power=2):
    return shifted(x) * by + power


def factorial_like(x, depth=3):
    return x if depth == 0 else x * factorial_like(x, depth - 1)


@functools.wraps(scaled)
def wrapped(*args):
    return scaled(*args) * math.pi


@pytest.mark.parametrize(
    "function",
    [
        scaled,
        factorial_like,
        wrapped,
        partial(scaled, by=7, power=1),
        lambda x: sum([x * step for step in SETTINGS["steps"]]),
        lambda x: MEAN * x + np.array([x, x]),
        lambda x: {name: x + len(name) for name in ("a", "bc")},
        lambda x: (lambda y: y * SCALE)(x),
        lambda x: x * math.sqrt(2) + math.inf,
        lambda x: list(map(shifted, (x, x))),
    ],
)
def test_constants_and_pure_functions_may_be_used(function):
    verify(function, NUMBERS)


SEEN, COUNT, MEMO = [], itertools.count(), {}


def remembered(x, known=MEMO):
    known[1] = x
    return x


def swallowed(x):
    try:
        return x.bit_length()
    except Exception:
        return x


class Model:
    def __call__(self, x):
        return x

    def method(self, x):
        return x


@functools.cache
def cached(x):
    return x


def restored(x):
    SEEN.append(x)
    SEEN.pop()
    return x if x > 0 else x


IMPURE = [
    print,
    remembered,
    swallowed,
    cached,
    restored,
    Model(),
    Model().method,
    Model,
    lambda x: SEEN.append(x) or x,
    lambda x: x + next(COUNT),
    lambda x: x + time.time(),
    lambda x: x + random.random(),
    lambda x: x + np.random.random(),
    lambda x: open(str(x)),
    lambda x: x if x > 0 else -x,
    lambda x: x and 1,
    lambda x: max(x, 0),
    lambda x: [y for y in range(x)],
    lambda x: [1, 2, 3][x],
    lambda x: {0: 1}[x],
    lambda x: {x},
    lambda x: f"{x}",
    lambda x: str(x),
    lambda x: isinstance(x, int),
    lambda x: type(x)(1),
    lambda x: math.floor(x),
    lambda x: "%d" % x,
    lambda x: (y for y in [x]),
    lambda x: missing(x),  # noqa: F821
    lambda x: None,
    lambda x: {},
    lambda x: print,
    lambda x: Model().method(x),
    lambda x: x in (1, 2),
    lambda x: {**MEMO, "model": Model()},
]


@pytest.mark.parametrize("function", IMPURE)
def test_impure_functions_are_not_traced_and_change_nothing(function):
    assert trace_of(function, NUMBERS) is None
    assert (SEEN, MEMO) == ([], {})


def test_a_function_is_called_once_with_stand_ins():
    def outer(x):
        return inner(x)

    calls = []

    def inner(x):
        calls.append(x)
        return x

    assert trace_of(outer, NUMBERS) is None
    assert calls == []


def watched():
    """A function of mutable state, a change to the state, and whether the function must then be checked again."""
    settings, table, step = {"shift": [1]}, np.array([1, 2, 3]), 1

    def function(x):
        return x * settings["shift"][0] + table[0] + step

    def set_step(value):
        nonlocal step
        step = value

    return function, [
        lambda: settings["shift"].__setitem__(0, 5),
        lambda: settings.__setitem__("shift", [9]),
        lambda: table.__setitem__(0, 4),
        lambda: set_step(7),
    ]


@pytest.mark.parametrize("which", range(4))
def test_changed_objects_are_detected(which):
    function, changes = watched()
    made = traced(function, ArraySpec((), I8))
    chunk = chunk_of(NUMBERS)
    assert made.columns(chunk, None, np.empty) is not None
    changes[which]()
    assert made.columns(chunk, None, np.empty) is None
    verify(function, NUMBERS)  # traced anew, it sees what is


def test_a_changed_global_is_detected(monkeypatch):
    monkeypatch.setitem(globals(), "SCALE", 3)
    made = traced(lambda x: x * SCALE, ArraySpec((), I8))
    monkeypatch.setitem(globals(), "SCALE", 4)
    assert made.columns(chunk_of(NUMBERS), None, np.empty) is None


def test_large_arrays_are_read_when_rows_are_made():
    table = np.arange(1000.0)
    made = traced(lambda x: (table[x], table[:2] * x, table[1:]), ArraySpec((), I8))
    table[:] = 7
    found = made.columns(chunk_of(NUMBERS), None, np.empty)
    np.testing.assert_array_equal(found.columns[0], [7] * 5)
    np.testing.assert_array_equal(found.columns[1][3], [21, 21])
    np.testing.assert_array_equal(found.columns[2][0], table[1:])


LARGE = np.arange(1000.0)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x - LARGE.mean(),
        lambda x: LARGE * 2 + x,
        lambda x: -LARGE * x,
        lambda x: LARGE[3] + x,
        lambda x: LARGE[[1, 2]] + x,
        lambda x: np.sqrt(LARGE)[x],
        lambda x: np.concatenate([LARGE, LARGE]) + x,
        lambda x: LARGE.astype(np.float32) + x,
        lambda x: np.outer(LARGE, LARGE) + x,
        lambda x: LARGE.copy() + x,
        lambda x: np.clip(LARGE, 0, 1) + x,
    ],
)
def test_values_computed_from_mutable_large_arrays_are_not_traced(function, monkeypatch):
    assert trace_of(function, NUMBERS) is None
    monkeypatch.setitem(globals(), "LARGE", np.frombuffer(LARGE.tobytes()))
    verify(function, NUMBERS)


def test_constants_are_not_written_to():
    def moved(x):
        y = MEAN
        y += x
        return y

    assert trace_of(moved, NUMBERS) is None
    assert in_columns(lambda x: MEAN + x, NUMBERS) is not None
    np.testing.assert_array_equal(MEAN, [0.5, 1.5])

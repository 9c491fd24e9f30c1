"""Python's own integers have no end and its division by zero is an error; columns give the same or step aside."""

from __future__ import annotations

import operator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tracing.comparing import in_columns, quietly, trace_of, verify, verify_made

MOST = 2**63 - 1
INTEGERS = st.one_of(st.integers(-9, 9), st.integers(-MOST - 1, MOST), st.sampled_from([MOST, -MOST - 1, 2**53 + 1, 0]))
FLOATS = st.floats(width=64) | st.sampled_from([0.0, -0.0, 1.0, 2.0**53, -0.5])
KINDS = {"i8": INTEGERS, "f8": FLOATS, "?": st.booleans()}
BINARY = [operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.and_]
BINARY += [operator.or_, operator.xor, operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne]
NAMES = ["+", "-", "*", "/", "//", "%", "&", "|", "^", "<", "<=", ">", ">=", "==", "!="]
SYMBOLS = dict(zip(BINARY, NAMES, strict=True))


@pytest.mark.parametrize("operation", BINARY, ids=lambda operation: operation.__name__)
@given(kinds=st.tuples(*[st.sampled_from(sorted(KINDS))] * 2), data=st.data())
def test_every_operator_equals_python_or_is_left_to_the_function(operation, kinds, data):
    a, b = (data.draw(st.lists(KINDS[kind], min_size=3, max_size=3)) for kind in kinds)
    columns = (np.array(a, kinds[0]), np.array(b, kinds[1]))
    for source in (f"x {SYMBOLS[operation]} y", f"x {SYMBOLS[operation]} 3", f"0.5 {SYMBOLS[operation]} y"):
        function = eval(f"lambda x, y: {source}")
        made = trace_of(function, columns)
        wanted = quietly(lambda function=function: [function(*pair) for pair in zip(a, b, strict=True)])
        if made is not None and not isinstance(wanted, Exception):
            fits = all(type(each) is not int or -MOST - 1 <= each <= MOST for each in wanted)
            assert not fits or verify_made(made, columns, wanted) in (True, False)
            assert fits or not isinstance(quietly(lambda: in_columns(function, columns)), np.ndarray | list)  # noqa: B023
        elif made is not None:
            assert in_columns(function, columns) is None


@pytest.mark.parametrize(
    ("function", "last"),
    [
        (lambda x: x + 1, MOST - 1),
        (lambda x: x - 1, -MOST),
        (lambda x: x * 3, MOST // 3),
        (lambda x: -x, -MOST),
        (abs, -MOST),
        (lambda x: x**3, 2**20),
        (lambda x: x << 3, 2**59),
        (lambda x: (x + 5) * 2 - x, 2**61),
        (lambda x: x / 7, 2**53),
        (lambda x: x < 0.5, 2**53),
        (lambda x: x % 5 + x // 3, MOST // 2),
        (lambda x: x % 8 + x % 1, -MOST),
        (lambda x: x >> 70, MOST),
    ],
)
def test_integers_near_64_bits_are_exact(function, last):
    step = 1 if last > 0 else -1
    verify(function, np.array([0, 1, last]))
    beyond = np.array([0, 1, min(max(2 * last + step, -MOST - 1), MOST)])
    made = in_columns(function, beyond)
    assert made is None or made.elements() == [function(x) for x in beyond.tolist()]


@pytest.mark.parametrize(
    "function",
    [lambda x: 1 / x, lambda x: 1 // x, lambda x: 1 % x, lambda x: 1.0 / x, lambda x: (x, 5.5 % x)[0]],
)
@pytest.mark.parametrize("dtype", [np.int64, np.float64])
def test_division_by_zero_is_left_to_the_function(function, dtype):
    verify(function, np.array([1, 2], dtype))
    assert in_columns(function, np.array([1, 0], dtype)) is None


def test_booleans_are_integers_in_arithmetic():
    column = np.array([True, False, True])
    verify(lambda x: x + x, column)
    verify(lambda x: (-x, +x, abs(x), x * 0.5, x & True, x ^ 3), column)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x**0.5,
        lambda x: x**-1,
        lambda x: 2**x,
        lambda x: x + 2**70,
        lambda x: x + 1j,
        lambda x: x << -1 if False else [1, 2] * x,
        lambda x: divmod(x, 2),
        lambda x: round(x),
        lambda x: x.bit_length(),
        lambda x: x == None,  # noqa: E711 - a comparison with an object
    ],
)
def test_other_arithmetic_is_not_traced(function):
    assert trace_of(function, np.arange(3)) is None


def test_powers_of_floats_may_be_complex_or_too_large():
    assert trace_of(lambda x: x**2, np.arange(3.0)) is None

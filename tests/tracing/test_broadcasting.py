"""Every operation that tracing admits, in every way in which columns broadcast: equal to elements, or not traced."""

from __future__ import annotations

import operator
import warnings
from functools import cache, partial

import numpy as np
import pytest

from penstock.tracing.lanes import EXACT
from tests.tracing.comparing import alone, assert_same, chunk_of, quietly, trace_of

ROWS = 32
SHAPES = [(), (1,), (3,), (33,), (3, 5)]
FLOATS, ALL = ["f2", "f4", "f8"], ["?", "i1", "i8", "u8", "f2", "f4", "f8"]
PAIRS = [("f4", "f4"), ("f8", "f8"), ("f2", "f2"), ("f4", "i8"), ("i8", "f4"), ("u1", "u1"), ("i8", "i8"), ("i1", "f8")]
CONSTANTS = [2, -1, 0.5, 0, 1.7, np.float32(2), np.array([2.0]), np.array([-1], "f4")]
UFUNCS = {ufunc.__name__: ufunc for ufunc in vars(np).values() if isinstance(ufunc, np.ufunc) and ufunc.nout == 1}
ONE, TWO = ({name: ufunc for name, ufunc in UFUNCS.items() if ufunc.nin == nin} for nin in (1, 2))
OPERATORS = {name: getattr(operator, name) for name in "add sub mul truediv floordiv mod pow lt eq and_ lshift".split()}  # noqa: SIM905
TRIED = {name: ufunc for name, ufunc in TWO.items() if ufunc not in EXACT} | {
    "**": operator.pow,
    "//": operator.floordiv,
}
REDUCTIONS = ["sum", "mean", "std", "var", "any", "all", "max", "min", "prod", "argmax", "argmin", "cumsum", "cumprod"]


@cache
def numbers(shape, dtype, seed=0):
    """Ordinary numbers, and among them those for which there are shortcuts, and those at the ends of the range."""
    random, dtype = np.random.default_rng(seed), np.dtype(dtype)
    if dtype.kind == "b":
        return random.random(shape) < 0.5
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        ordinary = random.integers(max(-9, info.min), 10, shape)
        special = np.array([info.min, info.max, 0, 1, 2, info.max // 2], dtype)
        return np.where(random.random(shape) < 0.1, random.choice(special, shape), ordinary.astype(dtype))
    ordinary = random.normal(size=shape) * random.choice([1, 1, 1, 1000, 1e-3], shape)
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 0.5, -0.5, 2, 3, -2, 1e-40, 1e30, 5e-324, 65504, 6e-8]
    return np.where(random.random(shape) < 0.4, random.choice(special, shape), ordinary).astype(dtype)


def check(function, columns):
    """Assert that columns of several lengths equal elements, unless the function is not traced or fails."""
    traced = quietly(lambda: trace_of(function, columns))
    wanted = quietly(lambda: alone(function, columns))
    if traced is None or isinstance(wanted, Exception):
        return False
    chunk = chunk_of(columns)
    for low, high in ((0, len(chunk)), (0, 1), (1, 8), (8, 25)):
        found = quietly(lambda: traced.columns(chunk.slice(low, high), None, np.empty))  # noqa: B023
        if found is not None:
            assert_same(found.elements(), wanted[low:high])
    return True


@pytest.fixture(autouse=True)
def no_warnings():
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.mark.parametrize("name", ONE)
def test_functions_of_one_operand(name):
    for dtype in ALL:
        for shape in SHAPES:
            x = numbers((ROWS, *shape), dtype)
            check(ONE[name], x)
            if dtype in (*FLOATS, "i8") and shape:
                check(lambda x: ONE[name](x[..., ::2]), x)


@pytest.mark.parametrize("function", [*TWO.values(), *OPERATORS.values()], ids=[*TWO, *OPERATORS])
def test_functions_of_two_operands(function):
    for one, other in PAIRS if function in TRIED.values() else PAIRS[::2]:
        for shape in SHAPES if one == other else SHAPES[::2]:
            if function is operator.pow and not shape and one == other == "i8":
                continue  # Python's integers have no end
            x = numbers((ROWS, *shape), one)
            seconds = {shape, ()} | ({(5,), (3, 1)} if shape == (3, 5) else set())
            for second in seconds | ({(1,)} if (one, other) == PAIRS[0] else set()):
                y = numbers((ROWS, *second), other, seed=1)
                check(lambda x, y: function(x, y), (x, y))
                if second != shape and one == other:
                    check(lambda x, y: function(y, x), (x, y))


@pytest.mark.parametrize("function", TRIED.values(), ids=TRIED)
def test_functions_of_an_operand_and_a_constant(function):
    for dtype, shapes in (("f4", SHAPES[:-1]), ("f8", SHAPES[:1])):
        for shape in shapes:
            x = numbers((ROWS, *shape), dtype)
            for constant in CONSTANTS:
                check(lambda x: function(x, constant), x)  # noqa: B023
                check(lambda x: function(constant, x), x)  # noqa: B023


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize(
    "shape", [(1,), (7,), (1000,), (3, 5), (8, 1), (1, 8), (33, 5, 3), (130, 7), (9000,), (3, 2800)]
)
def test_reductions(name, shape):
    rows = 12 if np.prod(shape) < 2000 else 3
    axes = [None, *range(len(shape)), *([(0, 1), (0, 2)] if len(shape) > 2 else [])]
    for dtype in ALL:
        x = numbers((rows, *shape), dtype)
        for axis in axes:
            if isinstance(axis, int | None) or name in REDUCTIONS[:9]:
                check(lambda x: getattr(np, name)(x, axis=axis), x)  # noqa: B023
                check(lambda x: getattr(np, name)(x * 2, axis=axis), np.nan_to_num(x))  # noqa: B023


@pytest.mark.parametrize(
    "bounds", [(0, 1), (-1, 2), (None, 0), (0, None), (-0.0, 1.0), (0.5, 0.5), (2, 1), (np.nan, 1)]
)
def test_clip(bounds):
    for dtype in ALL:
        for shape in SHAPES:
            check(lambda x: np.clip(x, *bounds), numbers((ROWS, *shape), dtype))


@pytest.mark.parametrize("decimals", [0, 1, 2, -1, 5, 20, 30, -30])
def test_round(decimals):
    for dtype in ALL:
        for shape in SHAPES:
            check(lambda x: np.round(x, decimals), numbers((ROWS, *shape), dtype))


@pytest.mark.parametrize("dtype", ALL)
def test_casts(dtype):
    cls = np.dtype(dtype).type
    functions = [lambda x: x.astype(dtype), cls, partial(np.asarray, dtype=cls), lambda x: np.array([x, 1, x], cls)]
    for given in ALL:
        for shape in SHAPES:
            for function in [*functions, float, int, bool]:
                check(function, numbers((ROWS, *shape), given))


@pytest.mark.parametrize("dtype", ALL)
def test_choices_and_writing(dtype):
    def written(x, y):
        made = x * 1
        made += y
        made /= y
        return made

    for other in ALL:
        for shape in SHAPES:
            x = numbers((ROWS, *shape), dtype)
            for second in {shape, ()}:
                y = numbers((ROWS, *second), other, seed=1)
                check(lambda x, y: np.where(x > 0, x, y), (x, y))
                check(written, (x, y))


def test_a_power_is_traced_if_columns_equal_elements():
    x, exponents = numbers((ROWS, 7), "f4"), numbers((ROWS,), "f4", seed=1)
    assert check(lambda x: np.power(x, 2), x)
    assert check(lambda x: x**0.5, x)
    check(np.power, (x, exponents))  # which of them are traced depends on NumPy
    check(lambda x, y: x ** y[None], (x, exponents))


@pytest.mark.parametrize("dtype", FLOATS)
def test_common_functions_are_traced(dtype):
    x, y = numbers((ROWS, 7), dtype), numbers((ROWS, 7), dtype, seed=1)
    for function in (np.exp, np.sin, np.tanh, np.log1p, lambda x: np.clip(x, 0, 1), lambda x: x**3):
        assert check(function, x)
    for function in (np.maximum, np.hypot, np.arctan2):
        assert check(function, (x, y))

"""Random functions made of NumPy arithmetic, as source text, and columns of every kind of number for them."""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np
from hypothesis import strategies as st

DTYPES = ["?", "i1", "u1", "i2", "i4", "u4", "i8", "i8", "i8", "u8", "f2", "f4", "f8", "f8", "f8"]
SHAPES = [(), (), (), (3,), (4,), (1,), (2, 3), (3, 1), (2, 3, 4), (0,), (5, 3)]

CONSTANTS = ["0", "1", "2", "-1", "7", "255", "0.5", "2.0", "True", "2**40", "np.pi", "[1, 2, 3]", "np.int8(3)"]
CONSTANTS += ["np.float32(0.5)", "ROW", "COLUMN", "COUNTS", "BYTES", "SCALE"]
OPERATORS = ["+", "-", "*", "/", "//", "%", "&", "|", "^", "<", "<=", ">", "==", "!=", ">>"]
POWERS = ["0", "1", "2", "3", "0.5", "-1", "2.5"]
ONE = [f"np.{name}" for name in "sqrt exp abs floor sign isnan log1p tanh negative square rint sin logical_not".split()]  # noqa: SIM905
ONE += ["np.float32", "np.float64", "np.int32", "np.uint8", "np.int64", "np.bool_", "float", "int", "bool", "abs", "-"]
TWO = [f"np.{name}" for name in ("add", "maximum", "minimum", "subtract", "multiply", "divide", "arctan2", "hypot")]
TWO += ["np.power", "np.fmax", "np.copysign"]
METHODS = ["sum()", "mean()", "max()", "min()", "std()", "var()", "any()", "argmax()", "cumsum()", "prod()", "item()"]
METHODS += [
    "sum(axis=0)",
    "mean(axis=-1)",
    "max(axis=0)",
    "mean(axis=0, keepdims=True)",
    "argmin(axis=0)",
    "T",
    "copy()",
]
METHODS += ["reshape(-1)", "ravel()", "flatten()", "transpose()", "squeeze()", "astype(np.float32)", "astype(np.uint8)"]
METHODS += ["astype('f8')", "clip(0, 1)", "round(1)"]
INDICES = [
    "0",
    "-1",
    "1:",
    "::-1",
    "..., None",
    ":, 0",
    "..., 0",
    "None",
    "::2",
    "[1, 0]",
    ":, [1, 0]",
    "..., [0, 0, 1]",
]
CALLS = [
    *("np.stack([{a}, {b}])", "np.concatenate([{a}, {b}])", "np.hstack([{a}, {b}])", "np.vstack([{a}, {b}])"),
    *(
        "np.where({a} > 0, {a}, {b})",
        "np.where({a}, {b}, 0)",
        "np.array([{a}, {b}])",
        "np.array([{a}, {b}, 1.5], 'f4')",
    ),
    *("np.clip({a}, -1, 2)", "np.clip({a}, 0, None)", "TABLE[{a}]", "np.eye(12)[{a}]", "(np.arange(4) == {a})"),
    *("np.pad({a}, 1)", "np.roll({a}, 1, axis=0)", "np.diff({a})", "np.expand_dims({a}, 0)", "np.flip({a})"),
    *("np.moveaxis({a}, 0, -1)", "np.ascontiguousarray({a})", "np.asarray({a}, np.float32)", "np.zeros_like({a})"),
    *("np.repeat({a}, 2, axis=0)", "np.take({a}, [0, 1], axis=0)", "np.round({a})", "sum([{a}, {b}])", "sum({a})"),
    *("helped({a}, {b})", "stepped({a})", "(lambda y: y - y.mean())({a})", "applied(np.sqrt, {a})"),
]


def helped(a, b):
    c = a * 2
    return c - b


def stepped(a):
    y = a * 1
    y += 1
    y /= 2
    return y


NAMES = {
    "np": np,
    "ROW": np.float32([1, 2, 3]),
    "COLUMN": np.array([[0.5], [2.0]]),
    "COUNTS": np.arange(4),
    "BYTES": np.arange(6, dtype=np.uint8).reshape(2, 3),
    "TABLE": np.arange(20.0).reshape(10, 2),
    "SCALE": 0.25,
    "helped": helped,
    "stepped": stepped,
    "applied": lambda function, x: function(x),
}


@st.composite
def cases(draw):
    """A function, its source, and columns for it."""
    names = draw(st.sampled_from([["x"], ["x", "y"], ["x", "y", "z"]]))
    rows = draw(st.sampled_from([1, 2, 3, 8, 17]))
    columns = {name: _column(draw, rows) for name in names}
    results = [draw(_expressions(tuple(names))) for _ in range(draw(st.sampled_from([1, 1, 2])))]
    body = results[0] if len(results) == 1 else draw(_nestings()).format(*results)
    if draw(st.booleans()):
        source, given = f"lambda {', '.join(names)}: {body}", tuple(columns.values())
        given = given if len(given) > 1 else given[0]
    else:
        source = f"lambda d: (lambda {', '.join(names)}: {body})(*[d[name] for name in {names!r}])"
        given = dict(reversed(columns.items()))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)  # `1[0]`, for one
        return eval(source, dict(NAMES)), source, given


def _nestings():
    return st.sampled_from(
        ["{{'q': {0}, 'b': {1}}}", "({0}, {1})", "[{0}, ({1}, x)]", "({0}, {{'t': 'text', 'y': {1}}})"]
    )


def _column(draw, rows):
    dtype = np.dtype(draw(st.sampled_from(DTYPES)))
    shape = (rows, *draw(st.sampled_from(SHAPES)))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    wild = draw(st.sampled_from([0, 0, 0.3]))  # how many are not ordinary
    if dtype.kind == "b":
        return random.random(shape) < 0.5
    if dtype.kind == "f":
        numbers = (random.normal(size=shape) * draw(st.sampled_from([1, 1000]))).astype(dtype)
        special = [0.0, -0.0, np.nan, np.inf, -np.inf, 1.0, 0.5, np.finfo(dtype).max, np.finfo(dtype).tiny]
    else:
        info = np.iinfo(dtype)
        numbers = random.integers(max(-5, info.min), 10, shape).astype(dtype)
        special = [info.min, info.max, 0, 1, info.max // 2, info.max // 3, min(info.max, 2**53 + 1)]
    chosen = random.random(shape) < wild
    numbers[chosen] = random.choice(np.array(special, dtype), chosen.sum())
    return numbers


def _expressions(names):
    leaves = st.sampled_from([*names, *names, *names, None]).flatmap(
        lambda name: st.just(name) if name else st.sampled_from(CONSTANTS).map("({})".format)
    )
    return st.recursive(leaves, _grown, max_leaves=6)


def _grown(inner):
    return st.one_of(
        st.builds("({} {} {})".format, inner, st.sampled_from(OPERATORS), inner),
        st.builds("({} {} {})".format, inner, st.sampled_from(OPERATORS), inner),
        st.builds(_power, inner, st.sampled_from(POWERS)),
        st.builds("({}({}))".format, st.sampled_from(ONE), inner),
        st.builds("{}({}, {})".format, st.sampled_from(TWO), inner, inner),
        st.builds(_method, inner, st.sampled_from(METHODS)),
        st.builds("{}[{}]".format, inner, st.sampled_from(INDICES)),
        st.builds(lambda call, a, b: call.format(a=a, b=b), st.sampled_from(CALLS), inner, inner),
    )


def _power(base, exponent):
    return f"({base} ** {exponent})" if any(name in base for name in "xyz") else base  # of constants it may be huge


_method = partial("{}.{}".format)

"""Find operations that give a number in a column another result than alone, on this machine.

Sums, products, quotients, square roots and comparisons are exact, so columns equal elements by definition. A sine or a
maximum comes from kernels that may treat the end of an array, single numbers and strides differently, and a power has a
fast path if one exponent applies to all numbers. So these operations take contiguous memory, and are tried, once per
process, on numbers that distinguish kernels, in exactly the shapes in which a function and its columns use them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from penstock.tracing.forms import Kind

EXACT: frozenset[np.ufunc] = frozenset(
    [
        *(np.add, np.subtract, np.multiply, np.true_divide, np.negative, np.positive, np.absolute, np.fabs),
        *(np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal, np.isnan, np.isfinite),
        *(np.isinf, np.signbit, np.copysign, np.logical_and, np.logical_or, np.logical_xor, np.logical_not),
        *(np.floor, np.ceil, np.trunc, np.rint, np.sqrt, np.square, np.reciprocal, np.sign),
    ]
)
ROWS = (1, 2, 3, 7, 16, 33)  # lengths of columns
TRIED = 1024  # numbers in the largest operand of a trial, unless the fewest rows have more
FEWEST, MOST = 7, 400  # rows
_LARGEST = 1 << 12  # numbers in one element of a trial


@dataclass(frozen=True, slots=True)
class Operand:
    """One operand of a trial: its form in an element, and the dtype and axes of its columns.

    An operand that is the same number for all rows has its bytes as `constant`; an array of several numbers that is
    `shared` by all rows may hold any numbers.
    """

    kind: Kind
    given: np.dtype[Any]
    taken: np.dtype[Any]
    shape: tuple[int, ...]
    constant: bytes | None = None
    shared: bool = False


@dataclass(frozen=True, slots=True)
class Trial:
    """An operation, identified by its `name`: `alone` takes the operands of an element, `whole` those of columns."""

    name: Hashable
    operands: tuple[Operand, ...]
    alone: Callable[..., Any] = field(compare=False)
    whole: Callable[..., Any] = field(compare=False)
    largest: int = _LARGEST


def is_exact(ufunc: np.ufunc, dtypes: tuple[np.dtype[Any], ...]) -> bool:
    """Return True if every number has exactly one right result that every kernel gives.

    >>> is_exact(np.add, (np.dtype("f4"), np.dtype("f4"))), is_exact(np.exp, (np.dtype("f4"),))
    (True, False)
    """
    return ufunc in EXACT or all(dtype.kind in "biu" for dtype in dtypes)


@lru_cache(maxsize=1024)
def same_in_columns(trial: Trial) -> bool:
    """Return True if columns of any length equal elements, found by trying.

    >>> f4 = np.dtype("f4")
    >>> column, exponents = Operand(Kind.ARRAY, f4, f4, (3,)), Operand(Kind.NUMPY, f4, f4, ())
    >>> same_in_columns(Trial("sqrt", (column,), np.sqrt, np.sqrt))
    True
    >>> shortcut = lambda x, y: x * x if y == 2 else np.float32(1) / (1 / x) ** y
    >>> same_in_columns(Trial("power", (column, exponents), shortcut, lambda x, y: np.float32(1) / (1 / x) ** y))
    False
    """
    shapes = _smaller([operand.shape for operand in trial.operands], trial.largest)
    largest = max(map(math.prod, shapes))
    rows = min(max(TRIED // max(largest, 1), FEWEST), MOST)
    dimensions = max(map(len, shapes))
    sides = [
        _sides(operand, shape, rows, at, dimensions)
        for at, (operand, shape) in enumerate(zip(trial.operands, shapes, strict=True))
    ]
    with np.errstate(all="ignore"):
        try:
            elements = np.array([trial.alone(*given) for given in zip(*(alone for alone, _ in sides), strict=True)])
            return all(
                equal(trial.whole(*(column(low, low + length) for _, column in sides)), elements[low : low + length])
                for length in (*ROWS, rows)
                for low in range(0, rows, length)
            )
        except (ArithmeticError, TypeError, ValueError):
            return False


def equal(one: np.ndarray, other: np.ndarray) -> bool:
    """Return True if two arrays have the same dtype, shape and bits, except for the bits of NaNs.

    Neither IEEE 754 nor NumPy defines which NaN results from two NaNs.
    """
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    if one.tobytes() == other.tobytes():
        return True
    if one.dtype.kind != "f":
        return False
    nothing = np.isnan(one)
    return bool(
        np.array_equal(nothing, np.isnan(other))
        and np.array_equal(one[~nothing], other[~nothing])
        and np.array_equal(np.signbit(one[~nothing]), np.signbit(other[~nothing]))
    )


def _smaller(shapes: Sequence[tuple[int, ...]], largest: int) -> list[tuple[int, ...]]:
    """Return shapes that fit together like the given ones, of at most `largest` numbers."""
    made = list(shapes)
    while max(map(math.prod, made)) > largest:
        longest = max(size for shape in made for size in shape)
        made = [tuple(size // 2 if size == longest else size for size in shape) for shape in made]
    return made


def _sides(
    operand: Operand, shape: tuple[int, ...], rows: int, at: int, dimensions: int
) -> tuple[list[Any], Callable[[int, int], Any]]:
    """Return the operand of each element, and a function for the column of the elements `low` to `high`."""
    if operand.constant is not None:
        one: Any = np.frombuffer(operand.constant, operand.given).reshape(shape)
        one = one if shape else one.item() if operand.kind is Kind.PYTHON else one[()]
        return [one] * rows, lambda low, high: one
    if operand.shared:
        array = _numbers(operand.given, at, math.prod(shape)).reshape(shape)
        return [array] * rows, lambda low, high: array
    numbers = _numbers(operand.given, at, rows * math.prod(shape)).reshape(rows, *shape)
    column = numbers.astype(operand.taken).reshape(rows, *[1] * (dimensions - len(shape)), *shape)
    elements: list[Any] = numbers.tolist() if operand.kind is Kind.PYTHON else list(numbers)
    return elements, lambda low, high: column[low:high]


def _numbers(dtype: np.dtype[Any], at: int, count: int) -> np.ndarray:
    """Return numbers of every size and sign, with zeros, infinities, NaNs and denormals: one in four is zero."""
    random = np.random.default_rng(at)
    if dtype.kind != "f":
        return random.integers(0 if dtype.kind in "bu" else -3, 9, count).astype(dtype)
    near, wide = random.normal(size=count) * 4, random.normal(size=count) * 10.0 ** random.integers(-14, 23, count)
    info = np.finfo(dtype.type)
    special = [
        np.inf,
        -np.inf,
        np.nan,
        float(info.tiny) / 4,
        float(info.max),
        90.0,
        3.0,
        -0.5,
        0.25,
        *[1, -1, 0.5, 2] * 2,
    ]
    zeros, others = random.choice([0.0, -0.0], count), random.choice(special, count)
    with np.errstate(over="ignore"):
        return np.choose(random.integers(0, 4, count), [near, wide, others, zeros]).astype(dtype)

"""Integers by arithmetic: a finite range and an endless counter."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from penstock.core.arrays import Rows
from penstock.core.errors import ElementError, PlanError
from penstock.core.frozen import frozen
from penstock.core.lengths import INFINITE
from penstock.elements.chunks.chunk import Columns
from penstock.elements.nested.structure import LEAF
from penstock.elements.spec import ArraySpec, Spec

_INT64 = np.dtype(np.int64)
_LOWEST, _HIGHEST = -(2**63), 2**63 - 1
_LONGEST = 2**62


@frozen()
class IntegerSource:
    """The integers `start + step * row`, for `length` rows or without end."""

    computes = True

    name: str
    start: int
    step: int
    length: int
    dtype: np.dtype[Any]

    def spec(self) -> Spec:
        return ArraySpec((), self.dtype)

    def read_many(self, rows: Rows, out: list[NDArray[Any]] | None = None) -> Columns:
        if self.length == INFINITE:
            self._check(rows)
        into = out[0] if out and out[0].shape == rows.shape and out[0].dtype == self.dtype else None
        if into is not None and self.dtype == _INT64:
            values = np.multiply(rows, self.step, out=into)
            values += self.start
            return Columns(LEAF, [values], len(rows))
        values = rows * self.step
        values += self.start
        if into is not None:
            np.copyto(into, values, casting="unsafe")
            return Columns(LEAF, [into], len(rows))
        return Columns(LEAF, [values.astype(self.dtype, copy=False)], len(rows))

    def describe(self, row: int) -> str:
        return f"the number {self.start + self.step * row}"

    def fingerprint(self) -> tuple[Any, ...]:
        return ("integers", self.start, self.step, self.length, str(self.dtype))

    def _check(self, rows: Rows) -> None:
        """Raise an error for numbers that do not fit a counter's dtype; a range is checked when created."""
        if len(rows) == 0:
            return
        row = int(rows.max())
        if not _holds(self.dtype, self.start + self.step * row):
            raise ElementError(
                f"{self.name}: element {row} would be {self.start + self.step * row}, "
                f"which does not fit {self.dtype}; take() fewer elements, or use a smaller step"
            )


def integer_range(*arguments: Any, dtype: DTypeLike = np.int64) -> IntegerSource:
    """Return the source of `Dataset.range(stop)` and `range(start, stop[, step])`, as Python's `range` counts.

    >>> integer_range(1, 10, 4).read_many(np.arange(3)).columns
    [array([1, 5, 9])]
    """
    if not 1 <= len(arguments) <= 3:
        raise TypeError(f"range(): expected 1 to 3 numbers, not {len(arguments)}")
    name = f"range({', '.join(map(repr, arguments))})"
    numbers = range(*[_whole(name, argument) for argument in arguments])
    length = max(-(-(numbers.stop - numbers.start) // numbers.step), 0)  # len() is refused from 2**63
    kind = _number(name, dtype)
    if length > _LONGEST:
        raise PlanError(f"{name}: {length} elements; at most 2**62 are supported")
    if length:
        last = numbers.start + (length - 1) * numbers.step
        for value in (numbers.start, last):
            if not _holds(kind, value):
                raise PlanError(f"{name}: {kind} does not hold {value}")
    return IntegerSource(name, numbers.start, numbers.step, length, kind)


def counter(start: Any = 0, step: Any = 1, *, dtype: DTypeLike = np.int64) -> IntegerSource:
    """Return the source of `Dataset.counter`: `start`, `start + step`, ... without end; a step of 0 repeats `start`.

    Reading a number that does not fit the dtype raises an `ElementError`.
    """
    name = f"counter({start!r}, {step!r})"
    first, stride, kind = _whole(name, start), _whole(name, step), _number(name, dtype)
    for value in (first, stride):
        if not _holds(kind if value is first else _INT64, value):
            raise PlanError(f"{name}: {kind} does not hold {value}")
    return IntegerSource(name, first, stride, INFINITE, kind)


def _whole(name: str, value: Any) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{name}: expected whole numbers, not {value!r} ({type(value).__name__})") from None


def _number(name: str, dtype: DTypeLike) -> np.dtype[Any]:
    try:
        kind = np.dtype(dtype)
    except TypeError as error:
        raise TypeError(f"{name}: expected a dtype, not {dtype!r:.80}: {error}") from None
    if kind.kind not in "iuf":
        raise PlanError(f"{name}: dtype {kind} is not an integer or floating-point type")
    return kind


def _holds(dtype: np.dtype[Any], value: int) -> bool:
    """Return whether `value` fits both `dtype` and `int64`, the type of intermediate results."""
    if not _LOWEST <= value <= _HIGHEST:
        return False
    if dtype.kind == "f":
        return abs(value) <= float(np.finfo(dtype).max)
    limits = np.iinfo(dtype)
    return limits.min <= value <= limits.max

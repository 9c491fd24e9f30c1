"""Checks of columns before a step: if numbers might differ from those of elements, the rows are made one by one.

Integers are bounded by the minimum and maximum of their column; results are bounded by interval arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from penstock.tracing.forms import limits
from penstock.tracing.program import Frame, UnequalError
from penstock.tracing.standin import Trace, Value

ValueGuard: TypeAlias = Callable[[Frame], None]


def constant_of(operand: Any) -> Any:
    """Return a constant operand in the form that NumPy takes."""
    return operand.constant if isinstance(operand, Value) else operand


def constant_operand(operand: Any) -> Any:
    """Return a constant operand for a computation done only once."""
    return operand.settled if isinstance(operand, Value) else operand


def is_constant(operand: Any) -> bool:
    """Return True if the operand is the same for every element."""
    return not isinstance(operand, Value) or operand.register is None


def _quotient(low: int, high: int, other_low: int, other_high: int) -> tuple[int, int]:
    if other_low > 0:
        return min(low // other_low, low // other_high), max(high // other_low, high // other_high)
    largest = max(abs(low), abs(high))
    return -largest, largest


def _product(low: int, high: int, other_low: int, other_high: int) -> tuple[int, int]:
    corners = (low * other_low, low * other_high, high * other_low, high * other_high)
    return min(corners), max(corners)


BOUNDS: dict[str, Callable[..., tuple[int, int]]] = {
    "+": lambda low, high, other_low, other_high: (low + other_low, high + other_high),
    "-": lambda low, high, other_low, other_high: (low - other_high, high - other_low),
    "*": _product,
    "//": _quotient,
}
"""The bounds of a result, given the bounds of the operands."""


def bounds_of(operand: Any, frame: Frame) -> tuple[int, int]:
    """Return the bounds of integers: the minimum and maximum of a column, or a constant twice."""
    if is_constant(operand):
        value = int(constant_of(operand))
        return value, value
    return frame.bounds(operand.register)


def within(trace: Trace, dtype: np.dtype[Any], bounds: Callable[..., tuple[int, int]], *operands: Any) -> ValueGuard:
    """Require that an integer result fits `dtype`, and record its bounds."""
    made = trace.next_register
    least, most = limits(dtype)

    def guard(frame: Frame) -> None:
        low, high = bounds(*[bound for operand in operands for bound in bounds_of(operand, frame)])
        if low < least or high > most:
            raise UnequalError
        frame.bound(made, low, high)

    return guard


def nonzero(divisor: Any) -> ValueGuard:
    """Require a divisor without zeros."""
    if is_constant(divisor):
        bad = constant_of(divisor) == 0

        def constant(frame: Frame) -> None:
            if bad:
                raise UnequalError

        return constant
    register: int = divisor.register

    def guard(frame: Frame) -> None:
        if not frame.columns[register].all():
            raise UnequalError

    return guard

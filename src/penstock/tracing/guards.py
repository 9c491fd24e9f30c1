"""Looks at columns before a step: where numbers might not be what elements would give, the rows are made one by one.

Integers are bounded by the least and largest of their column; what comes of them is bounded by arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from penstock.tracing.forms import limits
from penstock.tracing.program import Frame, UnequalError
from penstock.tracing.standin import Trace, Value

Guard: TypeAlias = Callable[[Frame], None]


def constant_of(operand: Any) -> Any:
    """A constant operand as NumPy takes it."""
    return operand.constant if isinstance(operand, Value) else operand


def settled(operand: Any) -> Any:
    """A constant operand, for something to be computed of it once and for all."""
    return operand.settled if isinstance(operand, Value) else operand


def is_constant(operand: Any) -> bool:
    """Whether the operand is the same for every element."""
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
"""What the result lies between, given what the operands lie between."""


def bounds_of(operand: Any, frame: Frame) -> tuple[int, int]:
    """What integers lie between: of a column its least and largest, of a constant itself twice."""
    if is_constant(operand):
        value = int(constant_of(operand))
        return value, value
    return frame.bounds(operand.register)


def within(trace: Trace, dtype: np.dtype[Any], bounds: Callable[..., tuple[int, int]], *operands: Any) -> Guard:
    """Require that a result of integers fits `dtype`, and remember what it lies between."""
    made = trace.next_register
    least, most = limits(dtype)

    def guard(frame: Frame) -> None:
        low, high = bounds(*[bound for operand in operands for bound in bounds_of(operand, frame)])
        if low < least or high > most:
            raise UnequalError
        frame.bound(made, low, high)

    return guard


def nonzero(divisor: Any) -> Guard:
    """Require a divisor that is zero nowhere."""
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

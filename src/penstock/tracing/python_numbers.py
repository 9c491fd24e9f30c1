"""Arithmetic of Python numbers on columns: unbounded integers, and errors for division by zero.

Columns have 64 bits and no errors. So each step checks the bounds of its columns, and raises `UnequalError` for rows
that might differ: those are then made one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock.tracing.arithmetic import OPERATORS, UNARY, registers
from penstock.tracing.forms import PYTHON_DTYPES, Kind, ValueForm, is_python_number
from penstock.tracing.guards import BOUNDS, ValueGuard, bounds_of, constant_of, is_constant, nonzero, within
from penstock.tracing.program import Frame, UnequalError
from penstock.tracing.standin import Trace, Value

BOOL, INT64, FLOAT64 = (np.dtype(name) for name in ("?", "i8", "f8"))
EXACT_FLOATS = 1 << 53  # integers up to here are exact as floats
MOST_SHIFT = 62
MOST_POWER = 62
COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")


def python_binary(trace: Trace, symbol: str, a: Any, b: Any) -> Any:
    """Record `a + b` and the like of Python numbers, at least one of which is a column."""
    if not all(isinstance(each, Value) or is_python_number(each) for each in (a, b)):
        trace.refuse("an operand of another type")
    kinds = _dtype(a).kind + _dtype(b).kind
    if symbol in COMPARISONS:
        return _comparison(trace, symbol, a, b, mixed="f" in kinds and kinds != "ff")
    if symbol == "/":
        guards = [nonzero(b)]
        if "f" not in kinds:
            guards += [_small(a), _small(b)]
        return _step(trace, symbol, FLOAT64, a, b, guards)
    if "f" in kinds:
        if symbol not in ("+", "-", "*", "//", "%"):
            trace.refuse(f"{symbol} of floats")
        return _step(trace, symbol, FLOAT64, a, b, [nonzero(b)] if symbol in ("//", "%") else [])
    if kinds == "bb" and symbol in ("&", "|", "^"):
        return _step(trace, symbol, BOOL, a, b, [])
    return _integers(trace, symbol, a, b)


def python_unary(trace: Trace, symbol: str, a: Value) -> Value:
    """Record `-a` and the like of a Python number."""
    dtype = INT64 if a.form.dtype == BOOL else a.form.dtype
    if symbol == "~" and a.form.dtype != INT64:
        trace.refuse("~ of a number other than an integer")
    guards: list[ValueGuard] = []
    if dtype == INT64 and symbol in ("-", "abs"):
        guards = [within(trace, INT64, _negated if symbol == "-" else _absolute, a)]
    return _recorded(trace, UNARY[symbol][1], dtype, dtype, (a,), guards)


def _integers(trace: Trace, symbol: str, a: Any, b: Any) -> Value:
    if symbol == "**":
        return _power(trace, a, b)
    guards: list[ValueGuard] = [nonzero(b)] if symbol in ("//", "%") else []
    if symbol in ("<<", ">>"):
        guards.append(_shiftable(b, MOST_SHIFT if symbol == "<<" else (1 << 63) - 1))
    bounds = {"<<": _shifted, "%": _remainder, **BOUNDS}.get(symbol)
    if bounds is not None:
        guards.append(within(trace, INT64, bounds, a, b))
    if symbol == "%" and is_constant(b) and b > 0 and b & (b - 1) == 0:
        symbol, b = "&", b - 1  # the same, ten times as fast
    return _step(trace, symbol, INT64, a, b, guards)


def _power(trace: Trace, a: Any, b: Any) -> Value:
    if is_constant(a) or not is_constant(b) or not 0 <= b <= MOST_POWER:
        trace.refuse("a power of unsupported integers")

    def bounds(low: int, high: int, exponent: int, _: int) -> tuple[int, int]:
        largest = max(abs(low), abs(high)) ** exponent
        return -largest, largest

    return _step(trace, "**", INT64, a, b, [within(trace, INT64, bounds, a, b)])


def _comparison(trace: Trace, symbol: str, a: Any, b: Any, *, mixed: bool) -> Value:
    """Record a comparison; Python compares integers and floats exactly, floats do so for small integers only."""
    guards = [_small(each) for each in (a, b) if mixed and _dtype(each).kind != "f"]
    taken = FLOAT64 if "f" in _dtype(a).kind + _dtype(b).kind else INT64
    return _recorded(trace, OPERATORS[symbol][1], taken, BOOL, (a, b), guards)


def _step(trace: Trace, symbol: str, dtype: np.dtype[Any], a: Any, b: Any, guards: Sequence[ValueGuard]) -> Value:
    return _recorded(trace, OPERATORS[symbol][1], dtype, dtype, (a, b), guards)


def _recorded(
    trace: Trace,
    ufunc: np.ufunc,
    taken: np.dtype[Any],
    made: np.dtype[Any],
    operands: tuple[Any, ...],
    guards: Sequence[ValueGuard],
) -> Value:
    """Record a step that converts all operands to `taken`, as Python does, and makes `made`."""
    reads = [_reading(trace, operand, taken) for operand in operands]

    def run(frame: Frame, out: np.ndarray | None) -> np.ndarray:
        for guard in guards:
            guard(frame)
        with np.errstate(all="ignore"):  # Python numbers never warn
            return ufunc(*[read(frame) for read in reads], out=out)

    return trace.record(ValueForm(Kind.PYTHON, made), registers(operands), run, takes_memory=True)


def _reading(trace: Trace, operand: Any, dtype: np.dtype[Any]) -> Any:
    if is_constant(operand):
        number = constant_of(operand)
        if type(number) is not float and not -(1 << 63) <= number < 1 << 63:
            trace.refuse("an integer of more than 64 bits")
        constant = dtype.type(number)
        return lambda frame: constant
    register: int = operand.register
    if operand.form.dtype == dtype:
        return lambda frame: frame.columns[register]
    return lambda frame: frame.columns[register].astype(dtype)


def _dtype(operand: Any) -> np.dtype[Any]:
    return operand.form.dtype if isinstance(operand, Value) else PYTHON_DTYPES[type(operand)]


def _small(operand: Any) -> ValueGuard:
    """Require integers that are exact as floats."""

    def guard(frame: Frame) -> None:
        low, high = bounds_of(operand, frame)
        if low < -EXACT_FLOATS or high > EXACT_FLOATS:
            raise UnequalError

    return guard


def _shiftable(count: Any, most: int) -> ValueGuard:
    def guard(frame: Frame) -> None:
        low, high = bounds_of(count, frame)
        if low < 0 or high > most:
            raise UnequalError

    return guard


def _negated(low: int, high: int) -> tuple[int, int]:
    return -high, -low


def _absolute(low: int, high: int) -> tuple[int, int]:
    return 0, max(abs(low), abs(high))


def _remainder(low: int, high: int, other_low: int, other_high: int) -> tuple[int, int]:
    return min(other_low + 1, 0), max(other_high - 1, 0)


def _shifted(low: int, high: int, other_low: int, other_high: int) -> tuple[int, int]:
    return min(low << other_low, low << other_high), max(high << other_low, high << other_high)

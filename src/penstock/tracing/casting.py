"""Convert numbers between dtypes exactly as elements are converted, or with a check that the rows allow it."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.tracing.forms import Kind, ValueForm, is_plain, limits
from penstock.tracing.program import Frame, UnequalError
from penstock.tracing.standin import Trace, Value

FLOAT64 = np.dtype(np.float64)


def weak(frame: Frame, register: int, dtype: np.dtype[Any]) -> np.ndarray:
    """Return a column of Python numbers in the dtype that NumPy gives them next to other numbers.

    As in NumPy, an integer that does not fit is not wrapped, and becomes a float via `float64`.
    """
    column = frame.columns[register]
    if column.dtype == dtype:
        return column
    if column.dtype.kind == "i":
        if dtype.kind in "iu":
            _require_room(frame.bounds(register), dtype)
        elif dtype.kind == "f":
            column = column.astype(FLOAT64)
    elif column.dtype.kind == "f" and dtype.kind in "iu":
        require_whole(column, dtype)
    return column.astype(dtype)


def require_whole(column: np.ndarray, dtype: np.dtype[Any]) -> None:
    """Require floats that are in the range of the integers of `dtype`; other results depend on the machine.

    The minimum of unsigned integers is zero.
    """
    if column.size == 0:
        return
    with np.errstate(all="ignore"):
        low, high = float(column.min()), float(column.max())
    least, most = limits(dtype)
    if not (least <= low and high < most + 1):  # false for NaN
        raise UnequalError


def _require_room(bounds: tuple[int, int], dtype: np.dtype[Any]) -> None:
    least, most = limits(dtype)
    if bounds[0] < least or bounds[1] > most:
        raise UnequalError


def cast(trace: Trace, value: Value, dtype: np.dtype[Any]) -> Value:
    """Record `value.astype(dtype)` of NumPy arrays and scalars: a copy."""
    if not is_plain(dtype):
        trace.refuse(f"numbers of {dtype}")
    if value.register is None:
        return trace.constant(value.settled.astype(dtype), fresh=True) or trace.refuse("a constant")
    register, risky = value.register, value.form.dtype.kind == "f" and dtype.kind in "iu"

    def run(frame: Frame, out: np.ndarray | None) -> np.ndarray:
        column = frame.columns[register]
        if risky:
            require_whole(column, dtype)
        if out is None:
            return column.astype(dtype)
        np.copyto(out, column, casting="unsafe")
        return out

    form = ValueForm(value.form.kind, dtype, value.form.shape)
    return trace.record(form, (register,), run, takes_memory=True, fresh=True, ordered=value.upright)


def converted(trace: Trace, given: Any, dtype: np.dtype[Any], kind: Kind) -> Any:
    """Record `np.float32(x)`, if `kind` is NUMPY, or `float(x)`, if PYTHON, of a single number."""
    if not isinstance(given, Value):
        return dtype.type(given) if kind is Kind.NUMPY else trace.refuse("a constant")
    if given.form.kind is Kind.ARRAY:
        if kind is Kind.PYTHON:
            trace.refuse("a number of an array")
        return given.shared if given.form.dtype == dtype else cast(trace, given, dtype)
    if given.register is None:
        number = dtype.type(given.settled)
        return number if kind is Kind.NUMPY else number.item()
    register = given.register
    if given.form.kind is Kind.PYTHON:

        def run(frame: Frame, out: np.ndarray | None) -> np.ndarray:
            return weak(frame, register, dtype)

    else:

        def run(frame: Frame, out: np.ndarray | None) -> np.ndarray:
            return exactly(frame, register, dtype)

    return trace.record(ValueForm(kind, dtype), (register,), run)


def exactly(frame: Frame, register: int, dtype: np.dtype[Any]) -> np.ndarray:
    """Return a column of NumPy scalars in another dtype, provided that all its integers are in range."""
    column = frame.columns[register]
    if dtype.kind in "iu" and column.dtype.kind in "iu":
        _require_room(frame.bounds(register), dtype)
    elif dtype.kind in "iu" and column.dtype.kind == "f":
        require_whole(column, dtype)
    return column.astype(dtype)

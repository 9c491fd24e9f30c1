"""Build arrays from several: concatenated, stacked, or listed number by number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from penstock.tracing.arithmetic import kind_of, operand_reader, registers, small
from penstock.tracing.casting import exactly, weak
from penstock.tracing.forms import Kind, form_of_value, is_plain, is_python_number
from penstock.tracing.guards import is_constant
from penstock.tracing.program import Frame
from penstock.tracing.shaping import array, blank, plain
from penstock.tracing.standin import Trace, Value


def concatenate(trace: Trace, arrays: Any, axis: int = 0) -> Any:
    """Record `np.concatenate(arrays, axis)`."""
    return _joined(trace, arrays, np.concatenate, axis, extra=0)


def trace_stack(trace: Trace, arrays: Any, axis: int = 0) -> Any:
    """Record `np.stack(arrays, axis)` of arrays, or of single numbers."""
    if all(kind_of(each) is not Kind.ARRAY for each in arrays):
        return vector(trace, arrays) if axis in (0, -1) else trace.refuse("unsupported axis")
    return _joined(trace, arrays, np.stack, axis, extra=1)


def hstack(trace: Trace, arrays: Any) -> Any:
    """Record `np.hstack(arrays)` of arrays."""
    values = [array(trace, each) for each in arrays]
    return concatenate(trace, values, 0 if len(values[0].form.shape) == 1 else 1)


def vstack(trace: Trace, arrays: Any) -> Any:
    """Record `np.vstack(arrays)` of arrays."""
    values = [array(trace, each) for each in arrays]
    flat = {len(value.form.shape) == 1 for value in values}
    if len(flat) > 1:
        trace.refuse("arrays of several dimensions")
    return trace_stack(trace, values) if flat == {True} else concatenate(trace, values)


def _joined(trace: Trace, arrays: Any, function: Callable[..., Any], axis: int, *, extra: int) -> Any:
    values = [array(trace, each) for each in arrays]
    if not all(value.upright for value in values):
        trace.refuse("a copy of an array that is transposed")
    if all(map(is_constant, values)):
        return function([value.settled for value in values], axis=axis)
    made = function([blank(value) for value in values], axis=axis)
    form = form_of_value(made)
    if form is None:
        trace.refuse("unsupported dtype")
    place = axis % (len(values[0].form.shape) + extra) + 1
    reads = [operand_reader(value, 0) for value in values]
    traced = [value.register is not None for value in values]

    def run(frame: Frame, out: np.ndarray | None) -> np.ndarray:
        columns = [read(frame) for read in reads]
        count = next(len(column) for column, known in zip(columns, traced, strict=True) if known)
        whole = [
            column if known else np.broadcast_to(column, (count, *column.shape))
            for column, known in zip(columns, traced, strict=True)
        ]
        return function(whole, axis=place, out=out)

    return trace.record(form, registers(values), run, takes_memory=True, fresh=True, ordered=True)


def vector(trace: Trace, numbers: Sequence[Any], dtype: np.dtype[Any] | None = None) -> Any:
    """Record `np.array([a, b, ...], dtype)` of single numbers."""
    if not numbers or not all(isinstance(each, Value) or is_python_number(each) for each in numbers):
        trace.refuse("an array of unsupported things")
    made = np.array([small(each) for each in numbers], dtype)
    form = form_of_value(made)
    if form is None or not is_plain(made.dtype) or any(kind_of(each) is Kind.ARRAY for each in numbers):
        trace.refuse("an array of unsupported numbers")
    if all(map(is_constant, numbers)):
        return np.array([plain(trace, each) for each in numbers], dtype)
    reads = [_number(each, made.dtype) for each in numbers]
    first = registers(numbers)[0]

    def run(frame: Frame, out: np.ndarray | None) -> np.ndarray:
        column = np.empty((len(frame.columns[first]), len(reads)), made.dtype) if out is None else out
        for at, read in enumerate(reads):
            column[:, at] = read(frame)
        return column

    return trace.record(form, registers(numbers), run, takes_memory=True, fresh=True, ordered=True)


def _number(given: Any, dtype: np.dtype[Any]) -> Callable[[Frame], Any]:
    if is_constant(given):
        value = np.array([given.settled if isinstance(given, Value) else given], dtype)
        return lambda frame: value
    register: int = given.register
    if given.form.kind is Kind.PYTHON:
        return lambda frame: weak(frame, register, dtype)

    return lambda frame: exactly(frame, register, dtype)

"""Sums, means, extremes and other reductions over axes of one element.

Sums of floats are computed pairwise, so they depend on the memory layout of the element: only elements contiguous in
memory are traced, for which NumPy's loops over columns take the same numbers in the same order as over elements.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.tracing.forms import form_of_value
from penstock.tracing.guards import is_constant
from penstock.tracing.program import Frame
from penstock.tracing.shaping import array, axes_of, axis_of, blank
from penstock.tracing.standin import Trace, Value

EXACT_SUM = 1 << 20  # count of integers of up to 32 bits whose sum is exact in a float64


def reduction(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the rule of `np.sum`, `np.mean` and the like."""

    def rule(trace: Trace, x: Any, axis: Any = None, *, keepdims: bool = False, **keywords: Any) -> Any:
        value = array(trace, x)
        if set(keywords) - _KEYWORDS.get(function, frozenset()):
            trace.refuse("unsupported reduction")
        if is_constant(value):
            return function(value.settled, axis=axis, keepdims=keepdims, **keywords)
        axes = tuple(each + 1 for each in axes_of(value, axis))
        return _recorded(
            trace,
            value,
            lambda a: function(a, axis=axis, keepdims=keepdims, **keywords),
            lambda column: function(column, axis=axes, keepdims=keepdims, **keywords),
            exact=not keywords and _is_exact(function, value),
        )

    return rule


def place(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the rule of `np.argmax` or `np.argmin`: without an axis, of the element's numbers in C order."""

    def rule(trace: Trace, x: Any, axis: Any = None) -> Any:
        value = array(trace, x)
        if is_constant(value):
            return function(value.settled, axis=axis)
        if axis is None:
            return _recorded(
                trace, value, function, lambda column: function(column.reshape(len(column), -1), axis=1), exact=True
            )
        along = axis_of(value, axis) + 1
        return _recorded(
            trace, value, lambda a: function(a, axis=axis), lambda column: function(column, axis=along), exact=True
        )

    return rule


def running(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the rule of `np.cumsum` or `np.cumprod`, which proceed from one number to the next."""

    def rule(trace: Trace, x: Any, axis: Any = None) -> Any:
        value = array(trace, x)
        if is_constant(value):
            return function(value.settled, axis=axis)
        if axis is None and len(value.form.shape) > 1:
            trace.refuse("a running sum over several axes")
        along = axis_of(value, -1 if axis is None else axis) + 1
        return _recorded(
            trace, value, lambda a: function(a, axis=axis), lambda column: function(column, axis=along), exact=False
        )

    return rule


_KEYWORDS: dict[Any, frozenset[str]] = {np.std: frozenset(["ddof"]), np.var: frozenset(["ddof"])}


def _is_exact(function: Callable[..., Any], value: Value) -> bool:
    """Return True if the order of the numbers does not matter."""
    dtype, count = value.form.dtype, math.prod(value.form.shape)
    if dtype.kind == "f" or function in (np.std, np.var):
        return False
    return function is not np.mean or (dtype.itemsize <= 4 and count <= EXACT_SUM)


def _recorded(
    trace: Trace, value: Value, alone: Callable[[Any], Any], whole: Callable[[Any], Any], *, exact: bool
) -> Value:
    if 0 in value.form.shape:
        trace.refuse("a reduction of nothing")
    if not exact:
        if not value.ordered:
            trace.refuse("a sum of floats that are not contiguous in memory")
        trace.ordered = True
    with np.errstate(all="ignore"):
        made = alone(blank(value))
    if not value.ordered and made.ndim > 1:
        trace.refuse("an array made of one that is not contiguous in memory")
    form, register = form_of_value(made), value.register
    if form is None or register is None:
        trace.refuse("unsupported reduction")

    def run(frame: Frame, out: np.ndarray | None) -> np.ndarray:
        return whole(frame.columns[register])

    return trace.record(form, (register,), run, fresh=True, ordered=True)

"""The operations that a function may apply to stand-ins: the rule of each operator, method and NumPy function."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

from penstock.tracing import arithmetic, casting, joining, python_numbers, reductions, shaping
from penstock.tracing.arithmetic import kind_of
from penstock.tracing.forms import Kind, is_python_number
from penstock.tracing.guards import is_constant
from penstock.tracing.lanes import Trial
from penstock.tracing.standin import Trace, Value

STATIC = ("dtype", "shape", "ndim", "size", "itemsize", "nbytes")


class Rules:
    """The operations of stand-ins."""

    def binary(self, trace: Trace, symbol: str, a: Any, b: Any) -> Any:
        """Record `a + b` and the like."""
        kinds = {kind_of(a), kind_of(b)}
        if kinds == {Kind.PYTHON}:
            return python_numbers.python_binary(trace, symbol, a, b)
        if Kind.ARRAY in kinds:
            a, b = (trace.lift(np.asarray(each)) if isinstance(each, list | tuple) else each for each in (a, b))
        if not all(isinstance(each, Value) or is_python_number(each) for each in (a, b)):
            trace.refuse("an operand of another type")
        return arithmetic.numpy_binary(trace, symbol, a, b)

    def in_place(self, trace: Trace, symbol: str, a: Value, b: Any) -> bool:
        """Record `a += b` and the like."""
        if isinstance(b, list | tuple):
            b = trace.lift(np.asarray(b))
        return arithmetic.in_place(trace, symbol, a, b)

    def unary(self, trace: Trace, symbol: str, a: Value) -> Any:
        """Record `-a` and the like."""
        rule = python_numbers.python_unary if a.form.kind is Kind.PYTHON else arithmetic.numpy_unary
        return rule(trace, symbol, a)

    def item(self, trace: Trace, a: Value, index: Any) -> Any:
        """Record `a[index]`."""
        return shaping.item(trace, a, index)

    def attribute(self, trace: Trace, a: Value, name: str) -> Any:
        """Return `a.shape`, `a.T`, and methods."""
        if a.form.kind is Kind.PYTHON:
            trace.refuse(f"{name} of a number")
        if name in STATIC:
            return getattr(np.empty(a.form.shape, a.form.dtype), name)
        if name == "T":
            return shaping.transpose(trace, a)
        methods = ARRAY_METHODS if a.form.kind is Kind.ARRAY else NUMBER_METHODS
        rule = methods.get(name)
        if rule is None:
            trace.refuse(f"{name} of {a.form.kind.value}")
        return lambda *args, **keywords: trace.lower(rule(trace, a, *_lifted(trace, args), **_plain(trace, keywords)))

    def call(self, trace: Trace, function: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Record `np.function(...)`, with stand-ins among the arguments."""
        given, known = _lifted(trace, args), _plain(trace, keywords)
        if isinstance(function, np.ufunc):
            return arithmetic.universal(trace, function, given, known)
        rule = FUNCTIONS.get(function)
        if rule is None:
            trace.refuse(f"{getattr(function, '__name__', function)}, whose results for columns are not known")
        return rule(trace, *given, **known)


def _lifted(trace: Trace, args: tuple[Any, ...]) -> list[Any]:
    return [trace.lift(arg) for arg in args]


def _plain(trace: Trace, keywords: dict[str, Any]) -> dict[str, Any]:
    return {name: shaping.plain(trace, trace.lift(value)) for name, value in keywords.items()}


def _astype(trace: Trace, x: Any, dtype: Any, *, copy: bool = True) -> Any:
    if not copy:
        trace.refuse("astype(copy=False), which may be the same array")
    return casting.cast(trace, x, np.dtype(dtype))


def _array(trace: Trace, x: Any, dtype: Any = None) -> Any:
    wanted = None if dtype is None else np.dtype(dtype)
    if isinstance(x, list | tuple):
        values: list[Any] = list(x)
        if values and all(kind_of(each) is Kind.ARRAY for each in values):
            made = joining.trace_stack(trace, values)
            return made if wanted is None else casting.cast(trace, trace.lift(trace.lower(made)), wanted)
        return joining.vector(trace, values, wanted)
    value = shaping.array(trace, x)
    if wanted is None and not value.upright:
        trace.refuse("a copy of an array that is transposed")
    return casting.cast(trace, value, wanted or value.form.dtype)


def _asarray(trace: Trace, x: Any, dtype: Any = None) -> Any:
    if isinstance(x, Value) and x.form.kind is Kind.ARRAY and (dtype is None or np.dtype(dtype) == x.form.dtype):
        return x
    return _array(trace, x, dtype)


def _contiguous(trace: Trace, x: Any, dtype: Any = None) -> Any:
    value = shaping.array(trace, x)
    if value.ordered or dtype is not None:
        return _asarray(trace, value, dtype) if value.ordered else trace.refuse("a cast of an array with gaps")
    return _c_copy(trace, value)


def _c_copy(trace: Trace, x: Any) -> Value:
    """Record a copy in C order, whatever the order of `x`."""
    value = shaping.array(trace, x)
    if value.register is None:
        return trace.lift(trace.lower(value.settled.copy(), fresh=True))
    register = value.register
    return trace.record(
        value.form, (register,), lambda frame, out: frame.columns[register].copy(), fresh=True, ordered=True
    )


def _flat(trace: Trace, x: Any) -> Value:
    return trace.lift(trace.lower(shaping.reshape(trace, x, -1)))


def _ravel(trace: Trace, x: Any) -> Any:
    """Record `x.ravel()`: contiguous, and a copy where NumPy makes one."""
    value = _flat(trace, x)
    return value if value.ordered else _c_copy(trace, value).shared


def _where(trace: Trace, condition: Any, x: Any, y: Any) -> Any:
    """Record `np.where(condition, x, y)`: a Python number takes its dtype next to the other."""
    operands = (condition, x, y)
    if all(map(is_constant, operands)) or all(kind_of(each) is not Kind.ARRAY for each in operands):
        trace.refuse("a choice between numbers, which gives an array of no dimension")
    made = np.where(*map(arithmetic.small, operands))
    form = shaping.form_of_value(made)
    if form is None:
        trace.refuse("unsupported choice")
    shape = np.broadcast_shapes(*map(arithmetic.shape_of, operands))
    reads = [
        arithmetic.operand_reader(each, len(shape), form.dtype if at and kind_of(each) is Kind.PYTHON else None)
        for at, each in enumerate(operands)
    ]
    ordered = all(each.upright for each in operands if isinstance(each, Value))
    return trace.record(
        arithmetic.ValueForm(Kind.ARRAY, form.dtype, shape),
        arithmetic.registers(operands),
        lambda frame, out: np.where(*[read(frame) for read in reads]),
        fresh=True,
        ordered=ordered,
    )


def _clip(trace: Trace, a: Any, a_min: Any = None, a_max: Any = None, **bounds: Any) -> Any:
    """Record `np.clip(a, low, high)` between known bounds."""
    low, high = bounds.pop("min", a_min), bounds.pop("max", a_max)
    low, high = shaping.plain(trace, low), shaping.plain(trace, high)
    if bounds or not all(each is None or is_python_number(each) for each in (low, high)):
        trace.refuse("unsupported bounds")
    name = (np.clip, *((type(each), repr(each)) for each in (low, high)))
    return _alone(trace, a, lambda x: np.clip(x, low, high), name)


def _round(trace: Trace, a: Any, decimals: int = 0) -> Any:
    return _alone(trace, a, lambda x: np.round(x, decimals), None)


def _alone(trace: Trace, a: Any, function: Callable[[Any], Any], name: Hashable) -> Any:
    """Record a function of one array or number and constants: an exact one, or one tried under this `name`."""
    if not isinstance(a, Value) or is_constant(a):
        return function(shaping.plain(trace, a))
    if not a.upright:
        trace.refuse("an array that is transposed")
    made = shaping.form_of_value(function(arithmetic.small(a)))
    if made is None:
        trace.refuse("unsupported function")
    if name is not None and made.dtype.kind == "f":
        arithmetic.require_same(trace, Trial(name, (arithmetic.operand_of(trace, a),), function, function), (a,))
    form = arithmetic.ValueForm(made.kind, made.dtype, a.form.shape)
    register: int = a.register  # type: ignore[assignment] - not a constant
    return trace.record(
        form, (register,), lambda frame, out: function(frame.columns[register]), fresh=True, ordered=True
    )


def _same_shape(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the rule of `np.zeros_like(x)`, which depends on the form of `x` only."""

    def rule(trace: Trace, x: Any, *args: Any, dtype: Any = None) -> Any:
        value = shaping.array(trace, x)
        form = value.form if value.upright else trace.refuse("memory like that of an array that is transposed")
        made = function(np.empty(form.shape, form.dtype), *shaping.plain(trace, args), dtype=dtype)
        return trace.constant(made, fresh=True)

    return rule


def _number(trace: Trace, x: Any) -> Any:
    """Record `x.item()` of a NumPy scalar."""
    if x.form.dtype.kind == "f":
        return casting.converted(trace, x, python_numbers.FLOAT64, Kind.PYTHON)
    dtype = python_numbers.BOOL if x.form.dtype.kind == "b" else python_numbers.INT64
    return casting.converted(trace, x, dtype, Kind.PYTHON)


_reduce = {name: reductions.reduction(getattr(np, name)) for name in ("sum", "mean", "std", "var", "any", "all")}
_reduce |= {name: reductions.reduction(getattr(np, name)) for name in ("max", "min", "prod")}
_reduce |= {name: reductions.place(getattr(np, name)) for name in ("argmax", "argmin")}
_reduce |= {name: reductions.running(getattr(np, name)) for name in ("cumsum", "cumprod")}

ARRAY_METHODS: dict[str, Callable[..., Any]] = {
    **_reduce,
    "astype": _astype,
    "clip": _clip,
    "copy": _c_copy,
    "flatten": lambda trace, x: _c_copy(trace, _flat(trace, x)),
    "ravel": _ravel,
    "repeat": shaping.along(np.repeat),
    "reshape": shaping.reshape,
    "round": _round,
    "squeeze": shaping.squeeze,
    "swapaxes": shaping.swapaxes,
    "take": shaping.along(np.take),
    "transpose": shaping.transpose,
}
NUMBER_METHODS: dict[str, Callable[..., Any]] = {"astype": _astype, "item": _number}
FUNCTIONS: dict[Any, Callable[..., Any]] = {
    **{getattr(np, name): rule for name, rule in _reduce.items()},
    np.array: _array,
    np.asarray: _asarray,
    np.ascontiguousarray: _contiguous,
    np.clip: _clip,
    np.concatenate: joining.concatenate,
    np.diff: shaping.diff,
    np.expand_dims: shaping.expand_dims,
    np.flip: shaping.flip,
    np.fliplr: lambda trace, x: shaping.flip(trace, x, 1),
    np.flipud: lambda trace, x: shaping.flip(trace, x, 0),
    np.full_like: _same_shape(np.full_like),
    np.hstack: joining.hstack,
    np.moveaxis: shaping.moveaxis,
    np.ndim: lambda trace, x: len(shaping.array(trace, x).form.shape),
    np.ones_like: _same_shape(np.ones_like),
    np.pad: shaping.trace_pad,
    np.ravel: _ravel,
    np.repeat: shaping.along(np.repeat),
    np.reshape: shaping.reshape,
    np.roll: shaping.along(np.roll),
    np.round: _round,
    np.shape: lambda trace, x: shaping.array(trace, x).form.shape,
    np.size: lambda trace, x: np.empty(shaping.array(trace, x).form.shape, "b").size,
    np.squeeze: shaping.squeeze,
    np.stack: joining.trace_stack,
    np.swapaxes: shaping.swapaxes,
    np.take: shaping.along(np.take),
    np.transpose: lambda trace, x, axes=None: shaping.transpose(trace, x, *(() if axes is None else (axes,))),
    np.vstack: joining.vstack,
    np.where: _where,
    np.zeros_like: _same_shape(np.zeros_like),
}
"""Functions of arrays other than universal functions, each with its rule."""

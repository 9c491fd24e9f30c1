"""Indexing, reshaping, joining and other moves that leave each number unchanged."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.tracing.arithmetic import kind_of
from penstock.tracing.forms import Kind, ValueForm, form_of_value, is_python_number
from penstock.tracing.guards import is_constant
from penstock.tracing.program import Frame
from penstock.tracing.standin import Trace, Value


def blank(value: Value) -> np.ndarray:
    """Return an array of the value's form, ordered, with arbitrary numbers."""
    return np.empty(value.form.shape, value.form.dtype)


def is_upright(made: Any) -> bool:
    """Return True if the axes of an array are in memory from the outermost to the innermost."""
    strides = [abs(stride) for stride, size in zip(made.strides, made.shape, strict=True) if size != 1]
    return strides == sorted(strides, reverse=True)


def array(trace: Trace, value: Any) -> Value:
    """Return the value, which must be an array."""
    if not isinstance(value, Value) or value.form.kind is not Kind.ARRAY:
        trace.refuse("a value other than an array")
    return value


def moved(
    trace: Trace,
    value: Value,
    alone: Callable[[Any], Any],
    whole: Callable[[Any], Any],
    *,
    view: bool = False,
) -> Any:
    """Record a step that applies `whole` to a column of shape (k, ...) as `alone` to one element.

    A step without `view` is a copy. It needs an upright element, so that memory order is the same in the column as
    alone.
    """
    if is_constant(value):
        made = alone(value.constant)
        if value.is_live and not (view and isinstance(made, np.ndarray)):
            trace.refuse("a part of a large array, which may change")
        return made
    if not (view or value.upright):
        trace.refuse("a copy of an array that is transposed")
    made = alone(blank(value))
    form = form_of_value(made)
    if form is None:
        trace.refuse("an array of no dimension")
    register: int = (value.shared if view else value).register  # type: ignore[assignment] - not a constant
    contiguous = form.kind is not Kind.ARRAY or made.flags.c_contiguous
    axes = np.arange(made.ndim) if contiguous else np.argsort(np.abs(made.strides), kind="stable")[::-1]

    def run(frame: Frame, out: np.ndarray | None) -> np.ndarray:
        column = whole(frame.columns[register])
        return column if view else _laid_out(column, axes)

    return trace.record(
        form,
        (register,),
        run,
        view=view,
        fresh=not view,
        ordered=contiguous and (value.ordered or not view),
        upright=value.upright and is_upright(made),
    )


def _laid_out(column: np.ndarray, axes: np.ndarray) -> np.ndarray:
    """Return a copy of a column whose elements have these axes in memory from the outermost to the innermost."""
    places = (0, *(axes + 1).tolist())
    return np.ascontiguousarray(column.transpose(places)).transpose(np.argsort(places))


# Indexing


def item(trace: Trace, value: Value, index: Any) -> Any:
    """Record `x[index]` with one index for all elements, or `table[label]` with one table."""
    index = trace.lift(index)
    if isinstance(index, Value) and not is_constant(index):
        return _lookup(trace, value, index)
    entries = tuple(index) if isinstance(index, tuple) else (index,)
    if (
        any(isinstance(entry, Value) and not is_constant(entry) for entry in entries)
        or kind_of(value) is not Kind.ARRAY
    ):
        trace.refuse("an index that is not known yet, or of a number")
    plain = [_plain_entry(trace, entry) for entry in entries]
    arrays = [entry for entry in plain if isinstance(entry, list | np.ndarray)]
    basic = not arrays
    if not basic and any(not isinstance(entry, slice) for entry in plain if not isinstance(entry, list | np.ndarray)):
        trace.refuse("an index of arrays and numbers")
    if len(arrays) > 1:
        trace.refuse("an index of several arrays")
    place = tuple(plain)
    return moved(trace, value, lambda a: a[place], lambda column: column[(slice(None), *place)], view=basic)


def _plain_entry(trace: Trace, entry: Any) -> Any:
    if isinstance(entry, Value):
        entry = entry.constant
    if isinstance(entry, np.integer) or type(entry) is int:
        return operator.index(entry)
    if entry is None or entry is Ellipsis or (isinstance(entry, np.ndarray) and entry.dtype.kind in "iub"):
        return entry
    if isinstance(entry, slice):
        bounds = [trace.lift(bound) for bound in (entry.start, entry.stop, entry.step)]
        if all(bound is None or type(bound) is int for bound in bounds):
            return entry
    if isinstance(entry, list) and all(type(each) is int for each in entry):
        return entry
    return trace.refuse("unsupported index")


def _lookup(trace: Trace, table: Value, index: Value) -> Value:
    if not (is_constant(table) and kind_of(table) is Kind.ARRAY and table.ordered and index.form.dtype.kind in "iu"):
        trace.refuse("an index that is not known yet")
    rows: np.ndarray = table.constant
    register: int = index.register  # type: ignore[assignment] - not a constant
    shape = (*index.form.shape, *rows.shape[1:])
    form = ValueForm(Kind.ARRAY if shape else Kind.NUMPY, rows.dtype, shape)
    return trace.record(form, (register,), lambda frame, out: rows[frame.columns[register]], ordered=True)


# Shapes


def reshape(trace: Trace, x: Any, *shape: Any) -> Any:
    """Record `x.reshape(shape)`, `x.ravel()` and other operations that keep the order of the numbers."""
    dimensions = shape[0] if len(shape) == 1 else shape
    return reshaped(trace, x, lambda a: a.reshape(dimensions))


def reshaped(trace: Trace, x: Any, alone: Callable[[np.ndarray], np.ndarray]) -> Any:
    """Record the shape change of `alone` for a column: a view where that is one, or a copy where that is one."""
    value = array(trace, x)
    inner = alone(blank(value)).shape
    return moved(trace, value, alone, lambda column: column.reshape(len(column), *inner), view=True)


def expand_dims(trace: Trace, a: Any, axis: int) -> Any:
    """Record `np.expand_dims(a, axis)`."""
    value, place = array(trace, a), axis + 1 if axis >= 0 else axis
    return moved(
        trace, value, lambda a: np.expand_dims(a, axis), lambda column: np.expand_dims(column, place), view=True
    )


def squeeze(trace: Trace, a: Any, axis: Any = None) -> Any:
    """Record `np.squeeze(a, axis)`."""
    value = array(trace, a)
    flat = tuple(at for at, size in enumerate(value.form.shape) if size == 1)
    places = tuple(at + 1 for at in (flat if axis is None else axes_of(value, axis)))
    return moved(trace, value, lambda a: np.squeeze(a, axis), lambda column: np.squeeze(column, places), view=True)


def transpose(trace: Trace, x: Any, *axes: Any) -> Any:
    """Record `x.transpose(axes)`."""
    value = array(trace, x)
    given = axes[0] if len(axes) == 1 else axes or None
    order = np.arange(len(value.form.shape)) + 1
    inner = order[::-1] if given is None else order[np.array(given, np.intp)]
    places = (0, *inner.tolist())
    alone = tuple(place - 1 for place in places[1:])
    return moved(trace, value, lambda a: a.transpose(alone), lambda column: column.transpose(places), view=True)


def swapaxes(trace: Trace, x: Any, axis1: int, axis2: int) -> Any:
    """Record `x.swapaxes(axis1, axis2)`."""
    value = array(trace, x)
    one, other = axis_of(value, axis1) + 1, axis_of(value, axis2) + 1
    return moved(
        trace, value, lambda a: a.swapaxes(axis1, axis2), lambda column: column.swapaxes(one, other), view=True
    )


def moveaxis(trace: Trace, x: Any, source: int, destination: int) -> Any:
    """Record `np.moveaxis(x, source, destination)` of one axis."""
    value = array(trace, x)
    one, other = axis_of(value, source) + 1, axis_of(value, destination) + 1
    return moved(
        trace,
        value,
        lambda a: np.moveaxis(a, source, destination),
        lambda column: np.moveaxis(column, one, other),
        view=True,
    )


def flip(trace: Trace, x: Any, axis: Any = None) -> Any:
    """Record `np.flip(x, axis)`."""
    value = array(trace, x)
    axes = axes_of(value, axis)
    return moved(
        trace,
        value,
        lambda a: np.flip(a, axis),
        lambda column: np.flip(column, tuple(each + 1 for each in axes)),
        view=True,
    )


def along(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the rule of a copying function of one array, plain arguments and one `axis`: `np.roll`, `np.repeat`."""

    def rule(trace: Trace, x: Any, argument: Any, axis: int) -> Any:
        value, given = array(trace, x), plain(trace, argument)
        place = axis_of(value, axis) + 1
        return moved(
            trace,
            value,
            lambda a: function(a, given, axis=axis),
            lambda column: function(column, given, axis=place),
        )

    return rule


def diff(trace: Trace, a: Any, n: int = 1, axis: int = -1) -> Any:
    """Record `np.diff(x, n, axis)`."""
    return along(np.diff)(trace, a, n, axis)


def trace_pad(trace: Trace, x: Any, pad_width: Any, mode: str = "constant", **keywords: Any) -> Any:
    """Record `np.pad(x, pad_width, mode)`, for modes that move numbers without computing."""
    value = array(trace, x)
    if mode not in ("constant", "edge", "reflect", "symmetric", "wrap") or set(keywords) - {"constant_values"}:
        trace.refuse("unsupported padding")
    if not is_python_number(keywords.get("constant_values", 0)):
        trace.refuse("padding by several values")
    widths = np.broadcast_to(np.asarray(plain(trace, pad_width)), (len(value.form.shape), 2)).tolist()
    return moved(
        trace,
        value,
        lambda a: np.pad(a, widths, mode, **keywords),  # type: ignore[call-overload] - the mode is one of those it knows
        lambda column: np.pad(column, [[0, 0], *widths], mode, **keywords),  # type: ignore[call-overload]
    )


def plain(trace: Trace, thing: Any) -> Any:
    """Return an argument that must be known, with its constants unwrapped."""
    if isinstance(thing, Value):
        return thing.settled if is_constant(thing) else trace.refuse("an argument that is not known yet")
    if isinstance(thing, list | tuple):
        known = [plain(trace, each) for each in thing]
        return known if isinstance(thing, list) else tuple(known)
    return thing


def axis_of(value: Value, axis: Any) -> int:
    """Return an axis of one element, counted from the front."""
    count = len(value.form.shape)
    place = operator.index(axis)
    if not -count <= place < count:
        raise IndexError(f"axis {axis} of {count}")
    return place % count


def axes_of(value: Value, axis: Any) -> tuple[int, ...]:
    """Return axes of one element, counted from the front; all of them if `axis` is `None`."""
    if axis is None:
        return tuple(range(len(value.form.shape)))
    return tuple(axis_of(value, each) for each in (axis if isinstance(axis, tuple) else (axis,)))

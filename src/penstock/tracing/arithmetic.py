"""Operators and universal functions with NumPy semantics: one operand is an array or a NumPy scalar."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from penstock.tracing.casting import cast, weak
from penstock.tracing.forms import PYTHON_TYPES, Kind, ValueForm, form_of_value, is_plain, is_python_number
from penstock.tracing.guards import BOUNDS, ValueGuard, constant_of, constant_operand, is_constant, nonzero, within
from penstock.tracing.lanes import Operand, Trial, is_exact, same_in_columns
from penstock.tracing.program import Frame
from penstock.tracing.standin import Trace, Value

OperandRead: TypeAlias = Callable[[Frame], Any]

OPERATORS: dict[str, tuple[Callable[..., Any], np.ufunc]] = {
    "+": (operator.add, np.add),
    "-": (operator.sub, np.subtract),
    "*": (operator.mul, np.multiply),
    "/": (operator.truediv, np.true_divide),
    "//": (operator.floordiv, np.floor_divide),
    "%": (operator.mod, np.remainder),
    "**": (operator.pow, np.power),
    "&": (operator.and_, np.bitwise_and),
    "|": (operator.or_, np.bitwise_or),
    "^": (operator.xor, np.bitwise_xor),
    "<<": (operator.lshift, np.left_shift),
    ">>": (operator.rshift, np.right_shift),
    "<": (operator.lt, np.less),
    "<=": (operator.le, np.less_equal),
    ">": (operator.gt, np.greater),
    ">=": (operator.ge, np.greater_equal),
    "==": (operator.eq, np.equal),
    "!=": (operator.ne, np.not_equal),
}
UNARY: dict[str, tuple[Callable[[Any], Any], np.ufunc]] = {
    "-": (operator.neg, np.negative),
    "+": (operator.pos, np.positive),
    "abs": (abs, np.absolute),
    "~": (operator.invert, np.invert),
}
POWERS = (np.power, np.float_power)
PLAIN_POWERS = (-1, 0.5, 1, 2)  # NumPy computes roots, squares and reciprocals for them


def kind_of(operand: Any) -> Kind:
    """Return the kind of an operand in one element."""
    return operand.form.kind if isinstance(operand, Value) else Kind.PYTHON


def shape_of(operand: Any) -> tuple[int, ...]:
    """Return the shape of an operand in one element."""
    return operand.form.shape if isinstance(operand, Value) else ()


def small(operand: Any) -> Any:
    """Return a small value of the operand's kind and dtype, to find the form of a result with NumPy."""
    if not isinstance(operand, Value):
        return operand
    form = operand.form
    if form.kind is Kind.ARRAY:
        return np.ones((1,) * len(form.shape), form.dtype)
    if operand.register is None:
        return operand.constant
    return PYTHON_TYPES[form.dtype](1) if form.kind is Kind.PYTHON else form.dtype.type(1)


def operand_reader(
    operand: Any, dimensions: int, dtype: np.dtype[Any] | None = None, *, exact: bool = True
) -> OperandRead:
    """Return the way a step reads an operand next to others of up to `dimensions`: (k, 1, ..., *shape), or a constant.

    A Python number becomes `dtype` if that is given; a step that is not `exact` reads contiguous memory.
    """
    if is_constant(operand):
        value = constant_of(operand)
        return lambda frame: value
    register: int = operand.register
    missing = dimensions - len(operand.form.shape)
    place = (slice(None), *[None] * missing)

    def read(frame: Frame) -> Any:
        column = frame.columns[register] if dtype is None else weak(frame, register, dtype)
        if not exact:
            column = np.ascontiguousarray(column)
        return column[place] if missing else column

    return read


def numpy_binary(trace: Trace, symbol: str, a: Any, b: Any) -> Any:
    """Record `a + b` and the like, where one operand is an array or a NumPy scalar."""
    evaluate, ufunc = OPERATORS[symbol]
    if is_constant(a) and is_constant(b):
        return evaluate(constant_operand(a), constant_operand(b))
    if Kind.ARRAY not in (kind_of(a), kind_of(b)):
        return elementary(trace, ufunc, (a, b), evaluate, guards=_scalar_guards(trace, symbol, a, b))
    if symbol == "**":
        return _power(trace, a, b)
    return elementary(trace, ufunc, (a, b), evaluate)


def numpy_unary(trace: Trace, symbol: str, a: Value) -> Any:
    """Record `-a` and the like of an array or a NumPy scalar."""
    evaluate, ufunc = UNARY[symbol]
    if is_constant(a):
        return evaluate(a.settled)
    guards: list[ValueGuard] = []
    if a.form.kind is Kind.NUMPY and a.form.dtype.kind in "iu" and symbol in ("-", "abs"):
        guards = [within(trace, a.form.dtype, lambda low, high: (-high, -low), a)]
    return elementary(trace, ufunc, (a,), evaluate, guards=guards)


def in_place(trace: Trace, symbol: str, a: Value, b: Any) -> bool:
    """Record `a += b`; return False if Python would bind a new value to the name, as for numbers."""
    if a.form.kind is not Kind.ARRAY:
        return False
    if not a.fresh:
        trace.refuse("writing into memory that other code may see")
    made = trace.lift(trace.lower(numpy_binary(trace, symbol, a, b), fresh=True))
    if not isinstance(made, Value) or made.form.shape != a.form.shape:
        trace.refuse("an array that would grow")
    if made.form.dtype != a.form.dtype:
        if not np.can_cast(made.form.dtype, a.form.dtype, "same_kind"):
            trace.refuse("a result that does not fit its memory")
        made = cast(trace, made, a.form.dtype)
    a.register, a.constant = made.register, made.constant
    a.ordered = a.upright = a.ordered and made.ordered
    return True


def universal(trace: Trace, ufunc: np.ufunc, args: Sequence[Any], keywords: dict[str, Any]) -> Any:
    """Record `np.add(a, b)` and the like, called by name."""
    if len(args) != ufunc.nin or ufunc.nout != 1 or ufunc.signature is not None or set(keywords) - {"dtype"}:
        trace.refuse(f"{ufunc.__name__} with unsupported arguments")
    operands = [trace.lift(np.asarray(arg)) if isinstance(arg, list | tuple) else arg for arg in args]
    if all(map(is_constant, operands)):
        return ufunc(*map(constant_operand, operands), **keywords)
    return elementary(trace, ufunc, operands, ufunc, keywords=keywords)


def elementary(
    trace: Trace,
    ufunc: np.ufunc,
    operands: Sequence[Any],
    evaluate: Callable[..., Any],
    *,
    guards: Sequence[ValueGuard] = (),
    keywords: dict[str, Any] | None = None,
) -> Value:
    """Record a step that calls `ufunc` on columns; `evaluate` computes one element."""
    keywords = keywords or {}
    shape = np.broadcast_shapes(*map(shape_of, operands))
    with np.errstate(all="ignore"):
        example = evaluate(*map(small, operands), **keywords)
    found = form_of_value(example)
    if found is None:
        trace.refuse(f"{ufunc.__name__} of these")
    form = ValueForm(found.kind, found.dtype, shape)
    strong = any(kind_of(operand) is not Kind.PYTHON for operand in operands)
    if keywords and strong and any(kind_of(each) is Kind.PYTHON and not is_constant(each) for each in operands):
        trace.refuse("a dtype for numbers of several kinds")
    loop = _loop(trace, ufunc, operands, keywords, strong=strong)
    exact = exact_or_tried(trace, ufunc, loop, operands, evaluate, keywords)
    reads = [
        operand_reader(operand, len(shape), taken if strong and kind_of(operand) is Kind.PYTHON else None, exact=exact)
        for operand, taken in zip(operands, loop, strict=True)
    ]

    def run(frame: Frame, out: np.ndarray | None) -> np.ndarray:
        for guard in guards:
            guard(frame)
        return ufunc(*[read(frame) for read in reads], out=out, **keywords)

    ordered = all(operand.upright for operand in operands if isinstance(operand, Value))
    return trace.record(form, registers(operands), run, takes_memory=True, fresh=True, ordered=ordered)


def exact_or_tried(
    trace: Trace,
    ufunc: np.ufunc,
    loop: tuple[np.dtype[Any], ...],
    operands: Sequence[Any],
    evaluate: Callable[..., Any],
    keywords: dict[str, Any] | None = None,
) -> bool:
    """Return True if the function is exact; otherwise require that contiguous columns give the same results."""
    if is_exact(ufunc, loop):
        return True
    if ufunc in POWERS and not _exponents_apart(*operands):
        trace.refuse("a power by exponents that are one for several numbers")
    given = keywords or {}
    strong = any(kind_of(operand) is not Kind.PYTHON for operand in operands)
    tried = tuple(
        operand_of(trace, operand, taken if strong and kind_of(operand) is Kind.PYTHON else None)
        for operand, taken in zip(operands, loop, strict=True)
    )
    name = (ufunc, evaluate, *map(np.dtype, given.values()))
    require_same(trace, Trial(name, tried, lambda *a: evaluate(*a, **given), lambda *a: ufunc(*a, **given)), operands)
    return False


def _exponents_apart(base: Any, exponent: Any) -> bool:
    """Return True if NumPy takes the same path for elements and columns: one exponent for all, or one per number.

    If one exponent of 2, -1 or 0.5 applies to all numbers of an inner loop, NumPy computes squares, reciprocals or
    roots; exponents of several rows lead to another inner loop.
    """
    shape, size = shape_of(exponent), math.prod(shape_of(exponent))
    if is_constant(exponent):
        return size == 1
    return size > 1 and shape == np.broadcast_shapes(shape_of(base), shape)


def require_same(trace: Trace, trial: Trial, operands: Sequence[Any]) -> None:
    """Give up if columns and elements differ; otherwise read contiguous memory."""
    if not same_in_columns(trial):
        trace.refuse("a function of numbers that differs between columns and elements")
    if not all(operand.ordered for operand in operands if isinstance(operand, Value)):
        trace.refuse("a function of memory that is not contiguous")
    trace.ordered = True


def operand_of(trace: Trace, operand: Any, taken: np.dtype[Any] | None = None) -> Operand:
    """Return the operand for a trial: `taken` is the dtype of a Python number in columns."""
    kind, shape = kind_of(operand), shape_of(operand)
    if not is_constant(operand):
        return Operand(kind, operand.form.dtype, taken or operand.form.dtype, shape)
    value = np.asarray(constant_of(operand))
    if not is_plain(value.dtype):
        trace.refuse("unsupported number")
    constant = value.tobytes() if value.size == 1 else None
    return Operand(kind, value.dtype, value.dtype, shape, constant, shared=constant is None)


def registers(operands: Sequence[Any]) -> tuple[int, ...]:
    """Return the registers among operands."""
    return tuple(each.register for each in operands if isinstance(each, Value) and each.register is not None)


def _loop(
    trace: Trace, ufunc: np.ufunc, operands: Sequence[Any], keywords: dict[str, Any], *, strong: bool = True
) -> tuple[np.dtype[Any], ...]:
    """Return the dtypes in which `ufunc` takes its operands: Python numbers adapt to the `strong` ones."""
    given: list[Any] = []
    for operand in operands:
        if kind_of(operand) is not Kind.PYTHON:
            given.append(operand.form.dtype)
        elif isinstance(operand, Value):
            given.append(PYTHON_TYPES[operand.form.dtype] if strong else operand.form.dtype)
        elif is_python_number(operand):
            given.append(np.dtype(np.bool_) if operand is True or operand is False else type(operand))
        else:
            trace.refuse(f"{ufunc.__name__} with a {type(operand).__name__}")
    given = [np.dtype(np.bool_) if each is bool else each for each in given]
    if "dtype" in keywords:
        signature = (*[None] * ufunc.nin, np.dtype(keywords["dtype"]))
        return tuple(ufunc.resolve_dtypes((*given, None), signature=signature)[: ufunc.nin])
    return tuple(ufunc.resolve_dtypes((*given, None))[: ufunc.nin])


def _power(trace: Trace, a: Any, b: Any) -> Any:
    """Record `a ** b` with an array: NumPy has fast paths for some exponents, so it is called in the same way."""
    if kind_of(a) is not Kind.ARRAY or not (is_constant(b) or kind_of(b) is Kind.ARRAY):
        trace.refuse("a power of unsupported operands")
    if not is_constant(b) or kind_of(b) is Kind.ARRAY:
        return elementary(trace, np.power, (a, b), operator.pow)
    exponent = constant_of(b)
    made = form_of_value(small(a) ** exponent)
    if made is None:
        trace.refuse("this power")
    loop = _loop(trace, np.power, (a, b), {})
    exact = exponent in PLAIN_POWERS or exact_or_tried(trace, np.power, loop, (a, b), operator.pow)
    read = operand_reader(a, len(a.form.shape), exact=exact)
    form = ValueForm(Kind.ARRAY, made.dtype, a.form.shape)
    return trace.record(form, (a.register,), lambda frame, out: read(frame) ** exponent, fresh=True, ordered=a.upright)


def _scalar_guards(trace: Trace, symbol: str, a: Any, b: Any) -> list[ValueGuard]:
    """Return guards for where NumPy scalars differ from columns: integer overflow and division by zero warn."""
    if symbol in ("**", "<<", ">>"):
        trace.refuse("a power or shift of NumPy scalars")
    with np.errstate(all="ignore"):
        made = OPERATORS[symbol][0](small(a), small(b))
    dtype = np.asarray(made).dtype
    guards: list[ValueGuard] = []
    if symbol in ("//", "%"):
        guards.append(nonzero(b))
    if dtype.kind in "iu" and symbol in BOUNDS:
        guards.append(within(trace, dtype, BOUNDS[symbol], a, b))
    return guards

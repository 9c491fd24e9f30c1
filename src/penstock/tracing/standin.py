"""Stand-ins for values that are not known yet, which record the operations of a function."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NoReturn, Protocol

import numpy as np

from penstock.tracing.forms import Kind, ValueForm, form_of_value
from penstock.tracing.program import ColumnStep, StepRun

MOST_STEPS = 256
_MOST_ITEMS = 256  # items of an array that a function may iterate over


class GiveUpError(Exception):
    """Raised when the function does something whose result for columns is not known to be the same."""


class Operations(Protocol):
    """The operations on values; operands are a `Value`, or an object that a function may combine with one."""

    def binary(self, trace: Trace, symbol: str, a: Any, b: Any, /) -> Any: ...
    def in_place(self, trace: Trace, symbol: str, a: Value, b: Any, /) -> bool: ...
    def unary(self, trace: Trace, symbol: str, a: Value, /) -> Any: ...
    def item(self, trace: Trace, a: Value, index: Any, /) -> Any: ...
    def attribute(self, trace: Trace, a: Value, name: str, /) -> Any: ...
    def call(self, trace: Trace, function: Any, args: tuple[Any, ...], keywords: dict[str, Any], /) -> Any: ...


class Trace:
    """The steps recorded so far. A trace that has `failed` is useless, even if the function caught the error."""

    def __init__(self, inputs: int, operations: Operations) -> None:
        self.operations = operations
        self.steps: list[ColumnStep] = []
        self.failed = False
        self.ordered = False
        """True if a step depends on the elements being contiguous in memory."""
        self.live: list[np.ndarray] = []
        """Arrays that may change unnoticed: steps may read them, but not use values computed from them once."""
        self._inputs = inputs

    @property
    def next_register(self) -> int:
        """The register of the next step."""
        return self._inputs + len(self.steps)

    def refuse(self, why: str) -> NoReturn:
        """Give up the trace."""
        self.failed = True
        raise GiveUpError(why)

    def record(
        self,
        form: ValueForm,
        reads: tuple[int, ...],
        run: StepRun,
        *,
        takes_memory: bool = False,
        view: bool = False,
        fresh: bool = False,
        ordered: bool = False,
        upright: bool = False,
    ) -> Value:
        """Add a step and return its value."""
        if len(self.steps) == MOST_STEPS:
            self.refuse("too many steps")
        self.steps.append(ColumnStep(form, reads, run, takes_memory, view))
        register = self.next_register - 1
        ordered = ordered or form.kind is not Kind.ARRAY
        return Value(self, form, register, fresh=fresh, ordered=ordered, upright=ordered or upright)

    def constant(self, value: Any, *, fresh: bool = False) -> Value | None:
        """Return a NumPy array or scalar as a known value, or `None` if its kind is not supported."""
        form = form_of_value(value)
        if form is None:
            return None
        ordered = form.kind is not Kind.ARRAY or value.flags.c_contiguous
        return Value(self, form, None, value, fresh=fresh, ordered=ordered, upright=ordered)

    def lift(self, thing: Any) -> Any:
        """Convert an object of the function for operations: values, plain numbers, and lists and tuples of them."""
        if isinstance(thing, StandIn):
            return _usable(value_of(thing))
        if isinstance(thing, TypeStandIn):
            return thing.cls
        if isinstance(thing, list | tuple):
            lifted = [self.lift(each) for each in thing]
            return lifted if isinstance(thing, list) else tuple(lifted)
        if isinstance(thing, np.ndarray | np.generic):
            value = self.constant(thing)
            return self.refuse(f"a constant {type(thing).__name__} of {thing.dtype}") if value is None else value
        return thing

    def lower(self, thing: Any, *, fresh: bool = False) -> Any:
        """Convert a value to the object that the function holds: the inverse of `lift`."""
        if isinstance(thing, Value):
            return thing.stand_in
        if isinstance(thing, list | tuple) and type(thing) in (list, tuple):
            lowered = [self.lower(each, fresh=fresh) for each in thing]
            return lowered if isinstance(thing, list) else tuple(lowered)
        if isinstance(thing, np.ndarray | np.generic):
            value = self.constant(thing, fresh=fresh)
            return self.refuse("a constant of another kind") if value is None else value.stand_in
        return thing


class TypeStandIn:
    """The stand-in for the type of a number; `cls` is the type itself."""

    def __init__(self, cls: Any) -> None:
        self.cls = cls


@dataclass(eq=False, slots=True)
class Value:
    """The value behind a stand-in: a `register` of the program, or a `constant`.

    `fresh` memory has no other holder, so the function may write into it. An `ordered` array is contiguous in C order,
    and an `upright` one has its axes in C order, perhaps with gaps.
    """

    trace: Trace
    form: ValueForm
    register: int | None
    constant: Any = None
    fresh: bool = False
    ordered: bool = True
    upright: bool = True
    face: StandIn | None = None

    @property
    def stand_in(self) -> StandIn:
        """The object that the function holds, always the same."""
        if self.face is None:
            self.face = StandIn(self)
        return self.face

    @property
    def settled(self) -> Any:
        """The constant, for a computation done only once."""
        if self.is_live:
            self.trace.refuse("a value computed from a large array, which may change")
        return self.constant

    @property
    def is_live(self) -> bool:
        """True if the constant is, or is a part of, an array that may change unnoticed."""
        return any(np.may_share_memory(self.constant, array) for array in self.trace.live)

    @property
    def shared(self) -> Value:
        """The value itself, whose memory now has a second view."""
        self.fresh = False
        return self


def value_of(stand_in: StandIn) -> Value:
    """Return the value behind a stand-in."""
    return stand_in._value  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]


def _binary(symbol: str) -> Callable[[Any, Any], Any]:
    return lambda self, other: _operate(
        self, lambda trace, a: trace.operations.binary(trace, symbol, a, trace.lift(other))
    )


def _reflected(symbol: str) -> Callable[[Any, Any], Any]:
    return lambda self, other: _operate(
        self, lambda trace, a: trace.operations.binary(trace, symbol, trace.lift(other), a)
    )


def _unary(symbol: str) -> Callable[[Any], Any]:
    return lambda self: _operate(self, lambda trace, a: trace.operations.unary(trace, symbol, a))


def _in_place(symbol: str) -> Callable[[Any, Any], Any]:
    def method(self: Any, other: Any) -> Any:
        value = _usable(value_of(self))
        done = value.trace.operations.in_place(value.trace, symbol, value, value.trace.lift(other))
        return self if done else NotImplemented

    return method


def _known(convert: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a conversion that only constants support: an unknown value has no truth, number or text."""

    def method(self: Any) -> Any:
        value = value_of(self)
        if value.register is not None:
            value.trace.refuse(f"{getattr(convert, '__name__', 'this')} of a value that is not known yet")
        return convert(value.settled)

    return method


def _unknown(what: str) -> Callable[..., Any]:
    return lambda self, *_: value_of(self).trace.refuse(what)


def _usable(value: Value) -> Value:
    if value.form.kind is Kind.OBJECT:
        value.trace.refuse("an operation on an object")
    return value


def _operate(stand_in: StandIn, operation: Callable[[Trace, Value], Any]) -> Any:
    value = _usable(value_of(stand_in))
    return value.trace.lower(operation(value.trace, value))


class StandIn:
    """The object that a function receives instead of a value. An operation not known to suit columns gives up."""

    __slots__ = ("_value",)

    def __init__(self, value: Value) -> None:
        self._value = value

    __add__, __radd__, __iadd__ = _binary("+"), _reflected("+"), _in_place("+")
    __sub__, __rsub__, __isub__ = _binary("-"), _reflected("-"), _in_place("-")
    __mul__, __rmul__, __imul__ = _binary("*"), _reflected("*"), _in_place("*")
    __truediv__, __rtruediv__, __itruediv__ = _binary("/"), _reflected("/"), _in_place("/")
    __floordiv__, __rfloordiv__, __ifloordiv__ = _binary("//"), _reflected("//"), _in_place("//")
    __mod__, __rmod__, __imod__ = _binary("%"), _reflected("%"), _in_place("%")
    __pow__, __rpow__, __ipow__ = _binary("**"), _reflected("**"), _in_place("**")
    __and__, __rand__, __iand__ = _binary("&"), _reflected("&"), _in_place("&")
    __or__, __ror__, __ior__ = _binary("|"), _reflected("|"), _in_place("|")
    __xor__, __rxor__, __ixor__ = _binary("^"), _reflected("^"), _in_place("^")
    __lshift__, __rlshift__, __ilshift__ = _binary("<<"), _reflected("<<"), _in_place("<<")
    __rshift__, __rrshift__, __irshift__ = _binary(">>"), _reflected(">>"), _in_place(">>")
    __lt__, __le__, __gt__, __ge__ = _binary("<"), _binary("<="), _binary(">"), _binary(">=")
    __eq__, __ne__ = _binary("=="), _binary("!=")  # pyright: ignore[reportAssignmentType]
    __neg__, __pos__, __abs__, __invert__ = _unary("-"), _unary("+"), _unary("abs"), _unary("~")
    __bool__, __int__, __float__, __index__ = (
        _known(bool),
        _known(int),
        _known(float),
        _known(lambda value: value.__index__()),
    )
    __hash__ = __str__ = __repr__ = __format__ = __complex__ = __bytes__ = _unknown("the text or key of a value")  # pyright: ignore[reportAssignmentType]
    __contains__ = __setitem__ = __delitem__ = __reversed__ = __matmul__ = __rmatmul__ = __imatmul__ = _unknown("this")
    __divmod__ = __rdivmod__ = __round__ = __trunc__ = __floor__ = __ceil__ = __array__ = __reduce__ = _unknown("this")
    __enter__ = __exit__ = __call__ = __next__ = __copy__ = __deepcopy__ = __buffer__ = _unknown("this")

    def __getitem__(self, index: Any) -> Any:
        return _operate(self, lambda trace, a: trace.operations.item(trace, a, index))

    def __getattr__(self, name: str) -> Any:
        return _operate(self, lambda trace, a: trace.operations.attribute(trace, a, name))

    def __setattr__(self, name: str, value: Any) -> None:
        if name != "_value":
            value_of(self).trace.refuse("an attribute set")
        object.__setattr__(self, name, value)

    def __len__(self) -> int:
        return self._dimension()

    def __iter__(self) -> Iterator[Any]:
        count = self._dimension()
        if count > _MOST_ITEMS:
            self._value.trace.refuse("iterating over a long array")
        return iter([self[i] for i in range(count)])

    def _dimension(self) -> int:
        form = self._value.form
        return form.shape[0] if form.kind is Kind.ARRAY else self._value.trace.refuse("iterating over a number")

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **keywords: Any) -> Any:
        trace = self._value.trace
        if method != "__call__":
            trace.refuse(f"{ufunc.__name__}.{method}")
        return trace.lower(trace.operations.call(trace, ufunc, inputs, keywords))

    def __array_function__(self, function: Any, types: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        trace = self._value.trace
        return trace.lower(trace.operations.call(trace, function, args, keywords))

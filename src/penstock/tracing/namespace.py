"""The replacements that a traced function finds under the names of NumPy, `math` and Python's number types."""

from __future__ import annotations

import types
from typing import Any, NamedTuple

import numpy as np

from penstock.tracing.casting import converted
from penstock.tracing.forms import Kind, is_plain
from penstock.tracing.operations import FUNCTIONS
from penstock.tracing.standin import StandIn, Trace, TypeStandIn, value_of

CONSTANT_TYPES = (type(None), bool, int, float, complex, str, bytes, type(Ellipsis), slice)
PURE_BUILTINS = frozenset(
    [
        *(abs, all, any, dict, divmod, enumerate, filter, len, list, map, max, min, pow, range, reversed, round, set),
        *(slice, sorted, sum, tuple, zip, ValueError, TypeError, RuntimeError, IndexError, KeyError, ArithmeticError),
        *(ZeroDivisionError, OverflowError, Exception, AssertionError, NotImplementedError, AttributeError),
    ]
)
PYTHON_NUMBERS = frozenset([bool, int, float])
NUMPY_NUMBERS = frozenset(cls for cls in np.sctypeDict.values() if is_plain(np.dtype(cls)))
ABSTRACT_TYPES = frozenset([np.number, np.integer, np.signedinteger, np.unsignedinteger, np.inexact, np.floating])
FRESH = frozenset([np.arange, np.eye, np.full, np.linspace, np.ones, np.zeros])
MAKERS = FRESH | {
    *(np.broadcast_to, np.cross, np.diag, np.dot, np.dtype, np.finfo, np.identity, np.iinfo, np.indices, np.isclose),
    *(np.issubdtype, np.logspace, np.meshgrid, np.outer, np.result_type, np.sort, np.tile, np.tri, np.tril, np.triu),
}
"""Pure functions that are called with constants only; results of the `FRESH` ones may be written into."""


class PlainTuple(NamedTuple):
    """A class of named tuples without additions."""

    field: object


NAMED_TUPLE = frozenset(vars(PlainTuple)) - {"field"}
"""The names that every class of named tuples has."""


class KnownFunction:
    """A NumPy function: computes with constants, and records operations on stand-ins."""

    def __init__(self, function: Any, trace: Trace) -> None:
        self._function = function
        self._trace = trace

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        trace, function = self._trace, self._function
        args = tuple(map(_real, args))
        keywords = {name: _real(value) for name, value in keywords.items()}
        if not all(map(_is_constant, (*args, *keywords.values()))):
            return trace.lower(trace.operations.call(trace, function, args, keywords))
        if "out" in keywords:
            trace.refuse("an argument to write into")
        made = function(*map(_constant, args), **{name: _constant(value) for name, value in keywords.items()})
        return trace.lower(made, fresh=function in FRESH)

    def __getattr__(self, name: str) -> Any:
        self._trace.refuse(f"{name} of {self._function}")


class NumberType(TypeStandIn):
    """`np.float32` or `float`: a function of one number, and a dtype."""

    def __init__(self, cls: type, dtype: np.dtype[Any], kind: Kind, trace: Trace) -> None:
        super().__init__(cls)
        self._dtype = dtype
        self._kind = kind
        self._trace = trace

    def __call__(self, *args: Any) -> Any:
        trace = self._trace
        if not any(isinstance(arg, StandIn) for arg in args):
            return trace.lower(self.cls(*map(_real, args)))
        (given,) = args
        return trace.lower(converted(trace, trace.lift(given), self._dtype, self._kind))

    def __eq__(self, other: object) -> bool:
        return self.cls == _real(other)

    def __hash__(self) -> int:
        return hash(self.cls)

    def __getattr__(self, name: str) -> Any:
        if name != "dtype" and hasattr(self.cls, name):
            self._trace.refuse(f"{name} of {self.cls}")
        raise AttributeError(name)


class Namespace:
    """The supported part of the module `numpy` or `math`."""

    def __init__(self, module: types.ModuleType, trace: Trace) -> None:
        self._module = module
        self._trace = trace

    def __getattr__(self, name: str) -> Any:
        thing = getattr(self._module, name)
        return thing if type(thing) in CONSTANT_TYPES else known(thing, self._trace)


def known(thing: Any, trace: Trace) -> Any:
    """Return the replacement of a function or type of Python or NumPy; without one, the trace gives up."""
    if not callable(thing):
        trace.refuse(f"a {type(thing).__name__}")
    try:
        hash(thing)
    except TypeError:
        trace.refuse("an object that may change")
    if isinstance(thing, type) and (thing in PYTHON_NUMBERS or thing in NUMPY_NUMBERS):
        kind = Kind.PYTHON if thing in PYTHON_NUMBERS else Kind.NUMPY
        return NumberType(thing, np.dtype(thing), kind, trace)
    if thing in FUNCTIONS or thing in MAKERS or _is_ufunc(thing):
        return KnownFunction(thing, trace)
    of_math = isinstance(thing, types.BuiltinFunctionType) and thing.__module__ == "math"
    if of_math or thing in PURE_BUILTINS or thing in ABSTRACT_TYPES or is_named_tuple(thing):
        return thing
    return trace.refuse(f"{getattr(thing, '__name__', thing)}, which is not known to be pure")


def is_named_tuple(thing: Any) -> bool:
    """Return True for a class of named tuples without additional methods."""
    if not isinstance(thing, type) or thing.__mro__ != (thing, tuple, object):
        return False
    fields: tuple[str, ...] = getattr(thing, "_fields", ())
    maker = str(getattr(thing.__new__, "__module__", ""))
    return maker.startswith("namedtuple_") and not vars(thing).keys() - NAMED_TUPLE - set(fields)


def _is_ufunc(thing: Any) -> bool:
    return isinstance(thing, np.ufunc) and getattr(np, thing.__name__, None) is thing


def _real(thing: Any) -> Any:
    """Return the type itself, if the function holds its replacement."""
    return thing.cls if isinstance(thing, TypeStandIn) else thing


def _is_constant(thing: Any) -> bool:
    if isinstance(thing, StandIn):
        return value_of(thing).register is None
    return all(map(_is_constant, thing)) if isinstance(thing, list | tuple) else True


def _constant(thing: Any) -> Any:
    if isinstance(thing, StandIn):
        return value_of(thing).settled
    if isinstance(thing, list | tuple):
        made = [_constant(each) for each in thing]
        return made if isinstance(thing, list) else tuple(made)
    return _real(thing)

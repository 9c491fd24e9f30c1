"""The functions that a transformation accepts: plain Python, or declarative with a spec and a batched form."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any, Protocol, TypeGuard, runtime_checkable

import numpy as np

from penstock.core.arrays import Allocate, Rows
from penstock.core.attributes import attribute_of
from penstock.elements.chunks.chunk import Chunk, Columns, Items
from penstock.plan.types import Spec

UNDECLARED = (FunctionType, BuiltinFunctionType, MethodType)


@runtime_checkable
class ElementFunction(Protocol):
    """A declarative function of one element whose result has a known spec."""

    random: bool

    def __call__(self, value: Any, /, *, rng: Any = None) -> Any: ...
    def spec(self, spec: Spec, /) -> Spec | None: ...


@runtime_checkable
class ColumnFunction(Protocol):
    """A declarative function of many elements at once, which can write into given memory."""

    def spec(self, spec: Spec, /) -> Spec | None: ...
    def run(self, values: Sequence[Any], rows: Rows, out: np.ndarray | None, /) -> np.ndarray | list[Any]: ...


@runtime_checkable
class ChunkFunction(Protocol):
    """A declarative function of many elements at once that makes several columns of them."""

    def spec(self, spec: Spec, /) -> Spec | None: ...
    def columns(self, values: Any, rows: Rows, out: Sequence[np.ndarray] | None, allocate: Allocate, /) -> Chunk: ...


@runtime_checkable
class TracedFunction(Protocol):
    """A plain `function` of one element with a program for columns; see `tracing`.

    A traced function is not an `ElementFunction`: known specs decide how some operations count rows, and tracing, which
    may succeed on one machine and fail on another, must not change that.
    """

    @property
    def function(self) -> Callable[..., Any]: ...
    @property
    def given(self) -> Spec: ...
    @property
    def made(self) -> Spec: ...
    def columns(self, chunk: Chunk, out: list[np.ndarray] | None, allocate: Allocate, /) -> Columns | None: ...
    def agrees(self, columns: Columns, items: Items, /) -> bool: ...
    def warn_of_difference(self) -> None: ...


def is_declared(function: object) -> TypeGuard[ElementFunction | ColumnFunction | ChunkFunction]:
    """Return True if the function is declarative. Others are recognized first: protocol checks are slow.

    The class tells: objects that forward calls, and mocks, have attributes of any name.
    """
    if isinstance(function, UNDECLARED) or not hasattr(type(function), "spec"):
        return False
    return isinstance(function, ElementFunction | ColumnFunction | ChunkFunction)


def makes_column(function: object) -> TypeGuard[ColumnFunction]:
    """Return True if the function is a declarative one of many elements that makes one column."""
    return is_declared(function) and isinstance(function, ColumnFunction)


def makes_columns(function: object) -> TypeGuard[ChunkFunction]:
    """Return True if the function is a declarative one of many elements that makes several columns."""
    return is_declared(function) and isinstance(function, ChunkFunction)


def has_traced_form(function: object) -> TypeGuard[TracedFunction]:
    """Return True if the function is a plain one with a program for columns."""
    return hasattr(type(function), "warn_of_difference") and isinstance(function, TracedFunction)


def takes_rng(function: Callable[..., Any]) -> bool:
    """Return True if the function needs randomness: by a parameter called `rng`, or the attribute `random`."""
    declared = None if isinstance(function, UNDECLARED) else attribute_of(function, "random")
    if isinstance(declared, bool):
        return declared
    try:
        return "rng" in inspect.signature(function).parameters
    except (TypeError, ValueError):  # builtins without a signature
        return False


def makes_operation(function: Callable[..., Any]) -> bool:
    """Return True for a function of Penstock that makes an operation, passed where an operation is expected.

    >>> from penstock import image, records
    >>> makes_operation(image.decode), makes_operation(image.decode()), makes_operation(records.decode_example)
    (True, False, False)
    """
    if not inspect.isfunction(function) or not str(function.__module__).startswith("penstock."):
        return False
    made = function.__globals__.get(str(function.__annotations__.get("return")))
    return isinstance(made, type) and callable(getattr(made, "spec", None))


def name_of(function: Callable[..., Any] | ColumnFunction | ChunkFunction) -> str:
    """Return the name of the function for `explain()` and errors."""
    if is_declared(function) or has_traced_form(function):
        return repr(function)
    name = getattr(function, "__qualname__", None)
    if not isinstance(name, str) or not name:
        name = type(function).__qualname__
    return name.replace("<lambda>", "lambda").rpartition("<locals>.")[2]

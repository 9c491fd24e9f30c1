"""A function of one element together with the program of columns traced from it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from types import FunctionType
from typing import Any

import numpy as np

from penstock.core.arrays import Allocate
from penstock.core.errors import ElementError
from penstock.core.frozen import frozen
from penstock.elements.chunks.chunk import Chunk, Column, Columns, Items
from penstock.elements.nested.structure import Structure, flatten, is_leaf, unflatten
from penstock.elements.spec import ArraySpec, Spec, leaf_spec
from penstock.plan.functions import name_of
from penstock.tracing.forms import OBJECT, PYTHON_TYPES, Kind, ValueForm, form_of_leaf
from penstock.tracing.lanes import equal
from penstock.tracing.namespace import is_named_tuple
from penstock.tracing.operations import Rules
from penstock.tracing.program import ColumnProgram, ResultLeaf, UnequalError
from penstock.tracing.purity import Purity
from penstock.tracing.standin import StandIn, Trace, Value, value_of

CONSTANTS = (bool, int, float, complex, str, bytes)


@frozen(repr=False)
class Traced:
    """A function whose results for elements of spec `given` its program computes from columns.

    A call is a call of the function itself. Pickling sends the function, which is traced again on arrival.
    """

    function: Callable[..., Any]
    given: Spec
    made: Spec
    _program: ColumnProgram
    _taken: Structure
    _structure: Structure
    _seen: tuple[Callable[[], bool], ...]

    def __call__(self, *element: Any) -> Any:
        return self.function(*element)

    def columns(self, chunk: Chunk, out: list[np.ndarray] | None, allocate: Allocate) -> Columns | None:
        """Return the function's results for the chunk's elements, or `None` if they must be computed one by one."""
        if not isinstance(chunk, Columns) or len(chunk) == 0 or not _alike(chunk.structure, self._taken):
            return None
        if not all(same() for same in self._seen):
            return None
        try:
            with _warning_of(self.function):
                made = self._program.run(chunk.columns, len(chunk), out, allocate)
        except (UnequalError, ArithmeticError, ValueError, TypeError, IndexError, MemoryError, Warning):
            return None  # the function's own error, and the row it belongs to, come from the elements only
        return Columns(self._structure, made, len(chunk))

    def agrees(self, columns: Columns, items: Items) -> bool:
        """Return True if columns equal elements, except for the bits of NaNs."""
        try:
            other = items.to_columns()
        except ElementError:
            return False
        if not _alike(other.structure, columns.structure):
            return False
        results = self._program.results
        return all(map(_agree, columns.columns, other.columns, [result.form for result in results]))

    def warn_of_difference(self) -> None:
        """Warn that the program was wrong."""
        warnings.warn(
            f"{name_of(self.function)}: elements computed in columns differ from those computed one by one, which are "
            "used instead. This is a bug in Penstock: please report it; vectorized=False avoids it",
            RuntimeWarning,
            stacklevel=2,
        )

    def __repr__(self) -> str:
        return f"{name_of(self.function)}, traced"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Traced) and self.function == other.function and self.given == other.given

    def __hash__(self) -> int:
        return hash(self.function)

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (self.function, self.given)


def traced(function: Callable[..., Any], spec: Spec) -> Traced | None:
    """Return the function traced on elements of this spec, or `None` if columns are not known to equal its results.

    >>> from penstock.elements.spec import ArraySpec
    >>> twice = traced(lambda x: x * 2, ArraySpec((), np.dtype("i8")))
    >>> twice.columns(Columns(flatten(0)[1], [np.arange(3)], 3), None, np.empty).elements()
    [0, 2, 4]
    >>> traced(lambda x: x if x > 0 else -x, ArraySpec((), np.dtype("i8"))) is None
    True
    """
    leaves, structure = flatten(spec)
    forms = tuple(map(form_of_leaf, leaves))
    trace = Trace(len(forms), Rules())
    purity = Purity(trace, objects=OBJECT in forms)
    try:
        if not _is_plain(unflatten(structure, leaves)):
            return None
        pure = purity.copy(function)
        element = unflatten(structure, [Value(trace, form, at).stand_in for at, form in enumerate(forms)])
        made = pure(*element) if type(element) is tuple else pure(element)
        found = _results(trace, made, leaves, purity)
    except Exception:  # noqa: BLE001 - a call of the function itself will raise any error
        return None
    if trace.failed or purity.changed() or found is None:
        return None
    results, made_spec, made_structure = found
    program = ColumnProgram.of(forms, tuple(trace.steps), results, ordered=trace.ordered)
    return Traced(function, spec, made_spec, program, structure, made_structure, tuple(purity.seen))


def _again(function: Callable[..., Any], spec: Spec) -> Any:
    return traced(function, spec) or function


def _warning_of(function: Any) -> np.errstate:
    """Return a context in which NumPy's warnings, such as of a division by zero, name the function."""
    function = function.func if isinstance(function, partial) else function
    if not isinstance(function, FunctionType):
        return np.errstate()
    registry = function.__globals__.setdefault("__warningregistry__", {})

    def warn(what: str, flag: int) -> None:
        warnings.warn_explicit(
            f"{what} encountered in {name_of(function)}",
            RuntimeWarning,
            function.__code__.co_filename,
            function.__code__.co_firstlineno,
            function.__module__,
            registry,
        )

    modes: dict[str, Any] = {error: "call" for error, mode in np.geterr().items() if mode == "warn"}
    return np.errstate(call=warn, **modes) if modes else np.errstate()


def _is_plain(element: Any) -> bool:
    """Return True if an element consists of dicts, lists, tuples and named tuples only, without user code."""
    if element is None or is_leaf(element):
        return True
    if type(element) is dict:
        return all(map(_is_plain, element.values()))
    if type(element) in (list, tuple) or is_named_tuple(type(element)):
        return all(map(_is_plain, element))
    return False


def _results(
    trace: Trace, made: Any, given: Sequence[Any], purity: Purity
) -> tuple[tuple[ResultLeaf, ...], Spec, Structure] | None:
    leaves, structure = flatten(made)
    results: list[ResultLeaf] = []
    specs: list[Any] = []
    for leaf in leaves:
        value = value_of(leaf) if isinstance(leaf, StandIn) else None
        if value is None:
            if type(leaf) not in CONSTANTS and not isinstance(leaf, np.generic):
                return None
            results.append(ResultLeaf(None, leaf))
            specs.append(leaf_spec(leaf))
        elif value.register is None:
            if not value.ordered:
                return None
            shared = any(np.may_share_memory(value.constant, array) for array in purity.arrays)
            results.append(ResultLeaf(None, value.constant, shared=shared))
            specs.append(leaf_spec(value.constant))
        else:
            handed_on = value.register < len(given)
            results.append(ResultLeaf(value.register, None, None if handed_on else value.form, value.ordered))
            specs.append(given[value.register] if handed_on else ArraySpec(value.form.shape, value.form.dtype))
    if not leaves or not all(map(_is_plain, [unflatten(structure, specs)])):
        return None
    return tuple(results), unflatten(structure, specs), structure


def _alike(one: Structure, other: Structure) -> bool:
    """Return True if structures are equal, including the order of the keys of their dicts."""
    return one is other or (one == other and repr(one) == repr(other))


def _agree(column: Column, wanted: Column, form: ValueForm | None) -> bool:
    if form is None or isinstance(column, list) or not isinstance(wanted, list):
        return form is None or (isinstance(column, list) and _agree(np.array(column, form.dtype), wanted, form))
    types = set(map(type, wanted))
    cls = {Kind.PYTHON: PYTHON_TYPES.get(form.dtype), Kind.NUMPY: form.dtype.type, Kind.ARRAY: np.ndarray}[form.kind]
    if types != {cls}:
        return False
    values = wanted
    if form.kind is Kind.ARRAY and any(value.dtype != form.dtype or value.shape != form.shape for value in values):
        return False
    return equal(np.array(values, form.dtype), np.asarray(column))

"""Copy a function so that it can reach only objects that are known to be pure.

The function is called once more than its user sees, and the operations of that call are applied to all elements: so it
may neither change anything outside nor read anything that changes. Its code is inspected, and every global name,
closure and default must be a constant, a known part of NumPy, or a function as pure as itself.
"""

from __future__ import annotations

import builtins
import math
import types
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from penstock.tracing.code import global_names
from penstock.tracing.forms import form_of_value
from penstock.tracing.namespace import CONSTANT_TYPES, Namespace, known
from penstock.tracing.standin import StandIn, Trace

LARGEST_WATCHED = 1 << 12  # bytes of an array that is watched for changes; a larger one is read again by every step
MOST_WATCHED = 64  # items of a list or dict


class Purity:
    """Make pure copies for one trace, and record the objects that they read."""

    def __init__(self, trace: Trace, *, objects: bool) -> None:
        self._trace = trace
        self._objects = objects
        self._functions: dict[int, types.FunctionType] = {}
        self._collections: list[tuple[Any, list[Any]]] = []
        self.arrays: list[np.ndarray] = []
        """Arrays that the function reaches."""
        self.seen: list[Callable[[], bool]] = []
        """For each mutable object that was read, a check that it is unchanged."""

    def copy(self, thing: Any) -> Any:
        """Return the replacement of `thing` in the trace; give up if the thing is not known to be pure."""
        if type(thing) in CONSTANT_TYPES or isinstance(thing, np.dtype):
            return thing
        if isinstance(thing, np.ndarray | np.generic):
            return self._array(thing)
        if type(thing) in (tuple, list, dict):
            return self._collection(thing)
        if isinstance(thing, types.FunctionType | partial):
            return self._function(thing) if isinstance(thing, types.FunctionType) else self._partial(thing)
        if thing is np or thing is math:
            return Namespace(thing, self._trace)
        return known(thing, self._trace)

    def changed(self) -> bool:
        """Return True if the function has changed a list or dict that it did not make."""
        return not all(_same(_items(copied), items) for copied, items in self._collections)

    def _array(self, thing: Any) -> StandIn:
        if form_of_value(thing) is None:
            self._trace.refuse(f"a {type(thing).__name__} of {thing.dtype}")
        if isinstance(thing, np.ndarray):
            self.arrays.append(thing)
            if _may_change(thing):
                self._watch(thing)
        return self._trace.lower(thing)

    def _watch(self, array: np.ndarray) -> None:
        if array.nbytes > LARGEST_WATCHED:
            self._trace.live.append(array)
            return
        content = array.tobytes()
        self.seen.append(lambda: array.tobytes() == content)

    def _collection(self, thing: Any) -> Any:
        if len(thing) > MOST_WATCHED:
            self._trace.refuse("a large collection")
        if isinstance(thing, tuple):
            return tuple(map(self.copy, thing))
        items = _items(thing)
        self.seen.append(lambda: _same(_items(thing), items))
        pairs = thing.items() if isinstance(thing, dict) else ()
        copied = {key: self.copy(value) for key, value in pairs} if pairs else type(thing)(map(self.copy, thing))
        self._collections.append((copied, _items(copied)))
        return copied

    def _partial(self, thing: partial[Any]) -> partial[Any]:
        keywords = {name: self.copy(value) for name, value in thing.keywords.items()}
        return partial(self.copy(thing.func), *map(self.copy, thing.args), **keywords)

    def _function(self, function: types.FunctionType) -> types.FunctionType:
        found = self._functions.get(id(function))
        if found is not None:
            return found
        code = function.__code__
        names = global_names(code, objects=self._objects)
        if names is None or function.__dict__.keys() - {"__wrapped__"}:
            self._trace.refuse(f"the code of {function.__qualname__}")
        own = function.__closure__ or ()
        cells = tuple(types.CellType() for _ in own)
        # NumPy itself imports under the names of its caller; the function cannot, see `global_names`.
        namespace: dict[str, Any] = {"__builtins__": {"__import__": builtins.__import__}}
        copied = types.FunctionType(code, namespace, function.__name__, None, cells)
        self._functions[id(function)] = copied  # before its names are inspected: it may be one of them
        for name in names:
            namespace[name] = self._global(function, name)
        for cell, theirs in zip(cells, own, strict=True):
            cell.cell_contents = self._watched(lambda cell=theirs: cell.cell_contents, theirs.cell_contents)
        copied.__defaults__ = self.copy(function.__defaults__)
        copied.__kwdefaults__ = self.copy(function.__kwdefaults__)
        return copied

    def _global(self, function: types.FunctionType, name: str) -> Any:
        scope: dict[str, Any] = function.__globals__
        if name not in scope:
            return self.copy(function.__builtins__[name])  # type: ignore[attr-defined] - not in the stubs of 3.11
        # through the function, of which only the names that it reads count for workers, not all of its module
        return self._watched(lambda: function.__globals__.get(name), scope[name])

    def _watched(self, look: Callable[[], Any], value: Any) -> Any:
        if not isinstance(value, types.ModuleType):
            self.seen.append(lambda: look() is value)
        return self.copy(value)


def _may_change(array: np.ndarray) -> bool:
    """Return True if the array's memory may be written into, including through an array of which it is a view."""
    return array.flags.writeable or (isinstance(array.base, np.ndarray) and _may_change(array.base))


def _items(collection: Any) -> list[Any]:
    if isinstance(collection, dict):
        return [each for pair in collection.items() for each in pair]
    return list(collection)


def _same(items: list[Any], others: list[Any]) -> bool:
    return len(items) == len(others) and all(a is b for a, b in zip(items, others, strict=True))

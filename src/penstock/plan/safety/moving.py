"""Find functions that another process may call instead of this one, and what such a function reads.

Only functions whose whole code can be read are found: of values that can be compared, plain Python and stateless
modules. Doubt means no. Nothing is run.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
import functools
import pathlib
import re
import reprlib
import types
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from penstock.plan.safety.attributes import class_attribute, is_library
from penstock.plan.safety.code import Code, FixedError, differs
from penstock.plan.safety.instructions import ABSENT, in_cell
from penstock.plan.safety.reads import Reads
from penstock.plan.safety.stateless import MAY_CHANGE, SHOWING, STATEFUL, STATELESS
from penstock.sources.powers import content_of_source
from penstock.sources.protocol import Called

if TYPE_CHECKING:
    from penstock.plan.node import Node

_VALUES = (type(None), bool, int, float, complex, str, bytes, range, type(Ellipsis), type(NotImplemented))
_CONSTANTS = (*_VALUES, slice, np.generic, np.dtype, np.ufunc, re.Pattern, pathlib.PurePath)
_TIMES = (dt.date, dt.time, dt.timedelta, dt.timezone)
_NATIVE = (types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType)
_OWN_STATE = ("__reduce__", "__reduce_ex__", "__getstate__", "__setstate__", "__getattr__", "__getattribute__")
GENERATED = ("<string>", dataclasses.__file__, reprlib.__file__)  # of the methods of a dataclass, which change nothing
_CALLED = ("its function", "its object")
_NOT_CALLED = frozenset(
    [
        *("__init__", "__new__", "__del__", "__init_subclass__", "__class_getitem__"),
        *("__setattr__", "__delattr__", "__replace__"),
    ]
)


def reads_of(nodes: Iterable[Node]) -> Reads:
    """Return what the functions and the data of operations read; raise `FixedError` if some must stay here."""
    reads = Reads()
    for node in nodes:
        if node.traits.keeps_made:
            raise FixedError(f"{node.label()} keeps its elements in the memory of this process")
        look = _Look(reads)
        try:
            for function in node.functions:
                look.value(function, _CALLED[0])
            source = getattr(node, "source", None)
            content = None if source is None or node.functions else content_of_source(source)
            if content is not None:
                look.value(content(), "its data")
            look.end()
        except RecursionError:
            raise FixedError(f"the values of {node.label()} are nested too deeply to be read") from None
        except FixedError as error:
            raise FixedError(f"{node.label()} {error}") from None
    if reads.is_large:
        raise FixedError("its functions and data hold more than can be compared while it runs")
    return reads


class _Look:
    """One look at all that a function reaches: every value and all code."""

    def __init__(self, reads: Reads) -> None:
        self._reads = reads
        self._seen: dict[int, Any] = {}  # kept, so that no id is used again
        self._held: dict[type, str] = {}  # the kinds of containers that the code reads, with a name
        self._classes: dict[type, Any] = {}  # of the user's objects
        self._read_as_values: list[type] = []  # those of them that are not only the object of a method
        self._uses = Code(self, reads)

    def end(self) -> None:
        """Follow the methods that the code may call; then compare what it may change with what it reads."""
        done = set[tuple[type, str]]()
        while coming := self._methods() - done:
            done |= coming
            for cls, name in sorted(coming, key=str):
                for owner in cls.__mro__[:-1]:
                    if name in vars(owner):  # also those that only `super()` reaches
                        self._reads.add_name(vars(owner), name)
                        self._defined(vars(owner)[name], f"{owner.__name__}.{name}")
        if self._uses.shows or self._uses.names & SHOWING:
            for cls in self._read_as_values:
                if cls.__repr__ is object.__repr__:
                    raise FixedError(f"shows objects, and the text of a {cls.__name__} has an address in it")
        for kind, name in self._held.items():
            changes = self._uses.names & MAY_CHANGE[kind]
            if changes or self._uses.stores:
                raise FixedError(f"may change {name}" + (f" by `{min(changes)}`" if changes else ""))
            if self._uses.augments and kind is not dict:
                raise FixedError(f"may change {name} in place")

    def _defined(self, found: Any, name: str) -> None:
        """Look at what a class defines."""
        found = found.__func__ if isinstance(found, staticmethod | classmethod) else found
        found = found.fget if isinstance(found, property) else found
        if not isinstance(found, types.FunctionType):
            self.value(found, name)
        elif found.__code__.co_filename not in GENERATED:
            self._code(found)

    def _methods(self) -> set[tuple[type, str]]:
        found: set[tuple[type, str]] = set()
        for cls in self._classes:
            for each in cls.__mro__[:-1]:
                found |= {
                    (cls, name)
                    for name in vars(each)
                    if name in self._uses.names or (name.startswith("__") and callable(vars(each)[name]))
                }
        return {(cls, name) for cls, name in found if name not in _NOT_CALLED}

    def value(self, thing: Any, name: str) -> None:
        """Look at a value that code reads."""
        kind = type(thing)
        if kind in _VALUES or isinstance(thing, (*_CONSTANTS, *_TIMES)) or id(thing) in self._seen:
            return
        self._seen[id(thing)] = thing
        look: Any = self._looks.get(kind)
        if look is not None:
            look(self, thing, name)
        elif isinstance(thing, type):
            self._class(thing, name)
        elif isinstance(thing, enum.Enum):
            self.value(thing.value, name)
        elif kind.__module__.startswith("penstock."):
            self._own(thing, name)
        elif not self._is_stateless(thing):
            self._object(thing, name)

    def _method(self, method: types.MethodType, name: str) -> None:
        self.value(method.__self__, _CALLED[1])
        self.value(method.__func__, name)

    def _partial(self, partial: functools.partial[Any], name: str) -> None:
        for each in (partial.func, *partial.args, *partial.keywords.values()):
            self.value(each, name)

    def _is_stateless(self, thing: Any) -> bool:
        """Return whether a native function of a library may be called anywhere."""
        owner = getattr(thing, "__self__", None)
        if isinstance(owner, type):
            return owner.__module__ in STATELESS
        if owner is not None and not isinstance(owner, types.ModuleType):
            if isinstance(thing, types.BuiltinFunctionType):
                self.value(owner, "its object")
                self._uses.names.add(thing.__name__)
                return True
            return False
        module = getattr(thing, "__module__", None) or getattr(thing, "__objclass__", object).__module__
        is_native = isinstance(thing, _NATIVE) or (type(thing).__module__ == "numpy" and callable(thing))
        return is_native and module in STATELESS and getattr(thing, "__name__", "") not in STATEFUL

    def _function(self, function: types.FunctionType, name: str) -> None:
        module = function.__module__ or ""
        if module.startswith("penstock."):
            for cell in function.__closure__ or ():
                self.value(in_cell(cell), name)
        elif is_library(module):
            if module not in STATELESS and not module.startswith("numpy."):
                raise FixedError(f"calls `{function.__name__}` of {module}, which may depend on this process")
            if function.__name__ in STATEFUL or module.startswith(("numpy.random", "numpy.linalg")):
                raise FixedError(f"calls `{function.__name__}`, which may depend on this process")
        else:
            self._code(function)

    def _container(self, thing: Any, name: str) -> None:
        if type(thing) is not tuple:
            self._held.setdefault(type(thing), f"`{name}`" if name.isidentifier() else name)
        self._reads.add(thing)
        if self._reads.is_large:
            return
        for item in list(thing.values()) + list(thing) if type(thing) is dict else list(thing):
            if type(item) not in _VALUES:
                self.value(item, name)

    def _array(self, array: np.ndarray, name: str) -> None:
        if array.dtype.hasobject:
            raise FixedError(f"reads an array of objects, `{name}`")
        self._held.setdefault(np.ndarray, f"`{name}`" if name.isidentifier() else name)
        self._reads.add(array)

    def _called(self, called: Called, _: str) -> None:
        if called.owner is not None:
            self.value(called.owner, "its data")
        if type(called.owner) not in (list, tuple, range, str, bytes, np.ndarray):
            for function in called.functions:
                self.value(function, "its function")

    def _class(self, cls: type, name: str) -> None:
        if is_library(cls.__module__) or cls.__module__ == "builtins":
            if cls.__module__ not in STATELESS or cls.__name__ in STATEFUL:
                raise FixedError(f"uses {cls.__module__}.{cls.__qualname__}")
            if issubclass(cls, set | frozenset):
                raise differs(f"`{cls.__name__}`")
        elif not issubclass(cls, BaseException) or any(
            isinstance(each, types.FunctionType) for each in vars(cls).values()
        ):
            raise FixedError(f"uses the class `{name}`, which it may change")
        else:
            self._reads.modules.add(cls.__module__)

    def _own(self, thing: Any, name: str) -> None:
        """Look behind an object of Penstock: at the functions in it, or at what a source calls."""
        called = getattr(thing, "called", None)
        if isinstance(called, Called):
            self._called(called, name)
            return
        for each in (getattr(thing, "function", None), *getattr(thing, "__dict__", {}).values()):
            if callable(each):
                self.value(each, name)

    def _object(self, thing: Any, name: str) -> None:
        cls = type(thing)
        held = getattr(thing, "__dict__", None)
        kept = any(class_attribute(cls, each) is not class_attribute(object, each) for each in _OWN_STATE[:3])
        kept = kept or any(class_attribute(cls, each) is not ABSENT for each in _OWN_STATE[3:5])
        kept = kept or class_attribute(cls, "__getattribute__") is not object.__getattribute__
        is_plain = type(cls) is type and not any(is_library(each.__module__) for each in cls.__mro__[:-1])
        if not is_plain or kept or not isinstance(held, dict) or any("__slots__" in vars(e) for e in cls.__mro__[:-1]):
            kind = f"{cls.__module__}.{cls.__qualname__}"
            raise FixedError(f"uses `{name}` of the type {kind}, which may have a state of its own")
        self._classes[cls] = thing
        if name not in _CALLED:
            self._read_as_values.append(cls)
        self._reads.modules |= {each.__module__ for each in cls.__mro__[:-1]}
        self._reads.add(held)
        for key, value in held.items():
            self.value(value, str(key))

    def _code(self, function: types.FunctionType) -> None:
        self._reads.modules.add(function.__module__ or "")
        self._reads.add(vars(function))
        for name, value in list(vars(function).items()):
            self.value(value, name)
        if id(function.__code__) in self._seen and not function.__closure__ and not function.__defaults__:
            return
        self._seen[id(function.__code__)] = function.__code__
        for value in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
            self.value(value, "a default")
        self._uses.read(function)

    _looks: ClassVar[dict[type, Callable[..., None]]] = {
        types.FunctionType: _function,
        types.MethodType: _method,
        functools.partial: _partial,
        list: _container,
        tuple: _container,
        dict: _container,
        np.ndarray: _array,
        Called: _called,
    }

"""Find what functions read of modules that another process would import anew.

Functions and classes of modules travel by their names. The program may have set a variable, an attribute of a class or
a function since it imported the module, or the file may have been edited since. Nothing is run, and nothing imported.
"""

from __future__ import annotations

import functools
import importlib.util
import inspect
import sys
import types
from collections.abc import Iterable, Iterator
from dataclasses import fields
from itertools import islice
from typing import Any

import numpy as np

from penstock.core.attributes import dict_of
from penstock.core.cached import cached_property
from penstock.core.pickling import SCRIPTS, Cached, is_dispatch, travels_by_value
from penstock.plan.content.code import nested_code
from penstock.plan.content.origins import distribution_of, module_of
from penstock.plan.graph import post_order
from penstock.plan.node import Node
from penstock.plan.safety.instructions import ABSENT, Instruction, in_cell, steps_in
from penstock.plan.safety.module_place import (
    CACHED_RESULT,
    CODE,
    REGISTRY,
    ModulePlace,
    place_of_name,
)

_SCALARS = (bool, int, float, complex, str, bytes, type(None))
_DATA = (*_SCALARS, np.ndarray, np.generic, np.dtype)
_WHOLE_MODULE = frozenset(["globals", "eval", "exec"])
_ENVIRONMENT = frozenset(["environ", "getenv"])
_DESCRIPTORS = types.MemberDescriptorType | types.GetSetDescriptorType
_PROPERTIES = (property, functools.cached_property, cached_property)
MOST_ITEMS = 256  # of a container, in which functions and classes are looked for
MOST_FOUND = 10_000  # places; beyond, nothing more is looked for


class Imported:
    """The values in modules that some functions read, by place, and the code of functions of modules.

    >>> import json
    >>> found = Imported()
    >>> found.add(lambda text: json.loads(text))  # of a library, whose settings are not followed
    >>> found.values
    {}
    """

    def __init__(self) -> None:
        self.values: dict[ModulePlace, Any] = {}
        self.code: dict[ModulePlace, types.CodeType] = {}
        self.perhaps: set[str] = set()
        """Modules that may be read by names which the code does not show, so that all their values count."""
        self.texts: set[str] = set()
        """Texts in functions that look at `os.environ`, some of which are names of variables there."""
        self.carried: dict[ModulePlace, Any] = {}
        """Variables of modules that functions take along, which travel by value, such as those that a function made."""
        self._stored: set[ModulePlace] = set()  # by the functions themselves: their state, such as a counter
        self._stored_attributes: set[str] = set()  # of classes, functions and modules
        self._seen: dict[tuple[int, ModulePlace | None], Any] = {}  # kept, so that no id is used again
        self._waiting: list[tuple[Any, ModulePlace | None]] = []

    def stores(self, place: ModulePlace) -> bool:
        """Return whether the functions themselves assign a variable, such as one that is set at the first call.

        An attribute of a class or a function counts by its name.
        """
        return place in self._stored or place.steps[-1] in self._stored_attributes

    def add(self, thing: Any) -> None:
        """Look at a function or an object of a plan, and at all that it leads to."""
        self._later(thing)
        while self._waiting and len(self._seen) < MOST_FOUND:
            self._look(*self._waiting.pop())

    def add_sentinels(self) -> None:
        """Add the variables of the same modules that hold a bare `object()`, which may be within another value too."""
        for name in dict.fromkeys(place.module for place in self.values):
            if distribution_of(name) is None:
                for variable, value in list(getattr(sys.modules.get(name), "__dict__", {}).items()):
                    if type(value) is object:
                        self._add(ModulePlace(name, (variable,)), value)

    def _later(self, thing: Any, place: ModulePlace | None = None) -> None:
        """Look later at a value that code reads, which is at a `place` in a module, or travels by itself."""
        if isinstance(thing, _DATA):
            self._add(place, thing)
        elif isinstance(thing, types.ModuleType):
            self._whole(thing)
        elif (id(thing), place) not in self._seen and not isinstance(thing, Node):
            self._seen[id(thing), place] = thing
            self._waiting.append((thing, place))

    def _look(self, thing: Any, place: ModulePlace | None) -> None:
        own = place_of_name(thing) if isinstance(thing, type | types.FunctionType | Cached) else None
        if place is not None and place != own:
            self._add(place, thing)  # a name of something elsewhere, or a value
        if isinstance(thing, types.FunctionType):
            self._function(thing, own)
        elif isinstance(thing, type):
            self._class(thing, own)
        elif isinstance(thing, Cached):
            self._cached(thing, own)
        else:
            self._parts(thing)

    def _add(self, place: ModulePlace | None, value: Any) -> None:
        if place is not None and value is not ABSENT:
            self.values.setdefault(place, value)

    def _function(self, function: Any, own: ModulePlace | None) -> None:
        if is_dispatch(function):
            self._later(dict(function.registry), None if own is None else own.then(REGISTRY))
            return
        names = function.__globals__
        is_library = distribution_of(module_of(function)) is not None
        if not is_library:
            if own is not None:
                self.code[own.then(CODE)] = function.__code__
            self._reads(function, None if own is None else str(names.get("__name__")))
            self._attributes(function, own)
        for number, cell in enumerate(function.__closure__ or ()):
            at = None if own is None or is_library else own.then(number)
            if not isinstance(held := in_cell(cell), types.ModuleType) and held is not function:
                self._later(held, at)
        for name in ("__defaults__", "__kwdefaults__"):
            if defaults := getattr(function, name):
                self._later(defaults, None if own is None or is_library else own.then(name))

    def _attributes(self, function: Any, own: ModulePlace | None) -> None:
        for name, value in list(vars(function).items()):
            if not name.startswith("__") and name != "cache_parameters":  # such as `__wrapped__`, of `functools`
                self._later(value, None if own is None else own.then(name))

    def _cached(self, cached: Any, own: ModulePlace | None) -> None:
        function: Any = cached.__wrapped__
        if own is None or distribution_of(own.module) is not None:
            self._later(function)
            return
        self._seen[id(function), None] = function
        self._function(function, own.then("__wrapped__"))
        self._attributes(cached, own)
        code = function.__code__
        takes = (
            code.co_argcount + code.co_kwonlyargcount + (code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS))
        )
        if not takes and not code.co_freevars and cached.cache_info().currsize == 1:
            self._add(own.then(CACHED_RESULT), cached())  # which returns what it keeps

    def _class(self, cls: type, own: ModulePlace | None) -> None:
        for base in cls.__bases__:
            self._later(base)
        if distribution_of(str(cls.__module__)) is not None:
            return
        for name, attribute in list(vars(cls).items()):
            at = None if own is None else own.then(name)
            if isinstance(attribute, staticmethod | classmethod):
                self._method(attribute, attribute.__func__, at, "__func__")
            elif isinstance(attribute, _PROPERTIES):
                step = "fget" if isinstance(attribute, property) else "func"
                self._method(attribute, getattr(attribute, step, None), at, step)
            elif isinstance(attribute, types.FunctionType):
                self._method(attribute, attribute, at)
            elif isinstance(attribute, functools.singledispatchmethod):
                self._function(attribute.dispatcher, None if at is None else at.then("dispatcher"))
            elif not (name.startswith(("__", "_abc_")) or isinstance(attribute, _DESCRIPTORS) or _is_enum(cls)):
                self._later(attribute, at)

    def _method(self, attribute: Any, function: Any, at: ModulePlace | None, *step: str) -> None:
        """Look at an attribute of a class, and at its function, which is at a `step` from there.

        It is in its place, unless the program has put it there from elsewhere: then it is a value.
        """
        if not isinstance(function, types.FunctionType | Cached):
            return
        of, own, within = module_of(function), place_of_name(function), None if at is None else at.then(*step)
        if at is not None and (of != at.module or own not in (None, within)):
            if of in sys.modules and distribution_of(of) is None:  # made by no library for its own use
                has_lock = isinstance(attribute, functools.cached_property | cached_property)
                self._later(function, within if has_lock else None)
                self._add(None if has_lock else at, attribute)
        elif isinstance(function, Cached):
            self._cached(function, within)
        elif (id(function), within) not in self._seen:
            self._seen[id(function), within] = function
            self._function(function, within)

    def _parts(self, thing: Any) -> None:
        if isinstance(thing, types.MethodType):
            parts: Iterable[Any] = (thing.__self__, thing.__func__)
        elif isinstance(thing, functools.partial):
            parts = (thing.func, *thing.args, *thing.keywords.values())
        elif isinstance(thing, dict):
            parts = islice(list(thing.values()), MOST_ITEMS)
        elif isinstance(thing, list | tuple | set | frozenset):
            parts = islice(list(thing), MOST_ITEMS)
        else:
            parts = (type(thing), *_held_by(thing))
        for each in parts:
            if not isinstance(each, _DATA):
                self._later(each)

    def _reads(self, function: types.FunctionType, module: str | None) -> None:
        """Look at the names outside of a function that its code reads; its globals are those of a `module`, if any."""
        names, code = function.__globals__, function.__code__
        of = None if module is not None else _importable(names)
        cells = {name: in_cell(cell) for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True)}
        for each in nested_code(code):
            steps = steps_in(each)
            if not _ENVIRONMENT.isdisjoint(each.co_names):
                self.texts.update(text for text in each.co_consts if isinstance(text, str))
            for at, step in enumerate(steps):
                if step.op == "STORE_GLOBAL" and module is not None:
                    self._stored.add(ModulePlace(module, (step.value,)))
                elif step.op == "STORE_ATTR" and _loaded_last(steps[at - 1]) != "self":
                    self._stored_attributes.add(step.value)
                elif step.op in ("LOAD_GLOBAL", "LOAD_NAME"):
                    self._name(step.value, names, module, steps[at + 1 :])
                    if of is not None and step.value in names:
                        self.carried[ModulePlace(of, (step.value,))] = names[step.value]
                elif step.op == "LOAD_DEREF" and isinstance(cells.get(step.value), types.ModuleType):
                    self._of_module(cells[step.value], steps[at + 1 :])
                elif step.op == "IMPORT_NAME":
                    self._imported(steps, at, names)

    def _name(self, name: str, names: dict[str, Any], module: str | None, rest: list[Instruction]) -> None:
        if name not in names:
            if name in _WHOLE_MODULE and module is not None:
                self._whole(sys.modules.get(module))
            return
        value = names[name]
        if isinstance(value, types.ModuleType):
            self._of_module(value, rest)
        else:
            self._later(value, None if module is None else ModulePlace(module, (name,)))

    def _of_module(self, module: types.ModuleType, rest: list[Instruction]) -> None:
        """Look at what the `rest` of some code reads of a module that it has loaded."""
        for step in rest:
            if step.op not in ("LOAD_ATTR", "LOAD_METHOD"):
                self._whole(module)  # passed on, or read by `getattr`
                return
            found = vars(module).get(step.value, ABSENT)
            if not isinstance(found, types.ModuleType):
                self._attribute(module, step.value, found)
                return
            module = found

    def _attribute(self, module: types.ModuleType, name: str, found: Any) -> None:
        """Look at a name of a module; of a library, only at plain values and at functions of the user."""
        if found is ABSENT:
            name, found = "__getattr__", vars(module).get("__getattr__", ABSENT)
        if found is ABSENT or (distribution_of(module.__name__) is not None and not is_set_in_library(found)):
            return
        if module.__name__ in SCRIPTS or sys.modules.get(module.__name__) is not module:
            self._later(found)
        else:
            self._later(found, ModulePlace(module.__name__, (name,)))

    def _whole(self, module: types.ModuleType | None) -> None:
        if module is not None and distribution_of(module.__name__) is None:
            self.perhaps.add(module.__name__)
            for name, found in list(vars(module).items()):
                if not name.startswith("__") and not isinstance(found, types.ModuleType):
                    self._attribute(module, name, found)

    def _imported(self, steps: list[Instruction], at: int, names: dict[str, Any]) -> None:
        """Look at what a function imports itself, as far as the program has imported it too."""
        level = next((each.value for each in reversed(steps[max(at - 2, 0) : at]) if type(each.value) is int), 0)
        package, written = str(names.get("__package__") or ""), str(steps[at].value)
        try:
            name = importlib.util.resolve_name("." * level + written, package) if level and package else written
        except ImportError:  # beyond the package; the function says so
            return
        module = sys.modules.get(name)
        if module is None:
            return
        if steps[at - 1].value is None:  # `import a.b`: what is read of it is not known
            self._whole(module)
            return
        for each in steps[at + 1 :]:
            if each.op == "IMPORT_FROM":
                found = vars(module).get(each.value, ABSENT)
                if isinstance(found, types.ModuleType):
                    self._whole(found)
                else:
                    self._attribute(module, each.value, found)
            elif not each.op.startswith("STORE_"):
                return


def is_set_in_library(value: Any) -> bool:
    """Return whether a program may have set a variable of a library to a value: a plain one, a function, a mock.

    Everything else there is as the library is installed.
    """
    is_own = isinstance(value, types.FunctionType) and distribution_of(module_of(value)) is None
    return is_own or isinstance(value, _SCALARS) or type(value).__module__ == "unittest.mock"


def imported_by(plan: Node) -> Imported:
    """Return what the functions, sources and other parts of a plan read of modules."""
    found = Imported()
    for node in post_order(plan):
        for field in fields(node):
            if not field.metadata.get("nodes"):
                found.add(getattr(node, field.name))
        for function in node.functions:
            found.add(function)
    found.add_sentinels()
    return found


def _importable(names: dict[str, Any]) -> str | None:
    """Return the name of the module whose variables these are, if other processes import it."""
    name = str(names.get("__name__"))
    is_it = getattr(sys.modules.get(name), "__dict__", None) is names and not travels_by_value(name)
    return name if is_it else None


def _loaded_last(step: Instruction) -> Any:
    return step.value[-1] if isinstance(step.value, tuple) else step.value


def _is_enum(cls: type) -> bool:
    return any(base.__module__ == "enum" for base in cls.__mro__)


def _held_by(thing: Any) -> Iterator[Any]:
    """Yield the attributes of an object, also those in slots."""
    yield from list(dict_of(thing).values())
    for cls in type(thing).__mro__:
        for slot in vars(cls).values():
            if isinstance(slot, types.MemberDescriptorType):
                try:
                    yield slot.__get__(thing)
                except AttributeError:  # it is empty
                    continue

"""Find the objects that a function reaches and writes: by its closure, globals, defaults, object and calls.

Only code of the user's own modules is followed; of a library object, only the called method and the methods it calls on
itself. Nothing is run, and no attribute is computed.
"""

from __future__ import annotations

import functools
import threading
import types
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Iterable
from itertools import islice
from typing import Any, cast

import numpy as np

from penstock.plan.safety.attributes import (
    arguments_by_name,
    assigned_attributes,
    bound_in,
    class_attribute,
    defaults_of,
    function_behind,
    is_library,
    known_if_there,
    may_follow,
    own_attribute,
    parameters_of,
    slot_of,
    used_names,
    wrapped_by,
)
from penstock.plan.safety.function_findings import FunctionFindings
from penstock.plan.safety.hazards import (
    LIST_WRITERS,
    UNCHANGING,
    WRITERS,
    Hazard,
    changed_by,
    grown_by,
    hazard_of,
    is_for_threads,
    process_wide_by_name,
)
from penstock.plan.safety.instructions import ABSENT, Known, follow, has_code_within, in_cell
from penstock.plan.safety.watch import is_watched, kept_by

MOST_FOLLOWED = 256  # functions and methods
_MOST_ITEMS = 32  # items of a collection that are examined
_DEEPEST = 4  # collections within collections

COLLECTIONS = (list, tuple, dict, set, frozenset, deque, OrderedDict, defaultdict)
_BOUND = (types.BuiltinFunctionType, types.MethodWrapperType)
CACHED = (functools.cached_property, type(functools.lru_cache(len)))


class Walk:
    """All findings from one function, or several functions of one object.

    `hazards` are the reasons that it is unsafe; `for_threads`: it uses a lock or thread-local data, so its author is
    aware of threads; `is_known`: every object met could be examined. `owners` are the objects whose methods it runs,
    `contents` the arrays and lists that it uses, and `caches` the results of `functools.cache` and the empty dicts,
    into which calls may put objects that later calls share. `names` are the attributes and globals that the code uses,
    `assigned` the attributes that it assigns, `builtins` the names of the functions in C that it holds or uses.
    """

    def __init__(self, functions: Iterable[Any]) -> None:
        self.for_threads = False
        self.is_known = True
        self.owners: dict[int, Known] = {}
        self.contents: dict[int, Known] = {}
        self.caches: dict[int, Known] = {}
        self.names, self.assigned, self.builtins = set[str](), set[str](), set[str]()
        self._hazards: dict[int, Hazard] = {}
        self._uses, self._growths = Counter[int](), Counter[int]()
        self._grown: dict[int, Known] = {}
        self._followed: set[tuple[int, int]] = set()
        self._given: set[tuple[Any, ...]] = set()  # functions with arguments that exist before the call
        self._reached: dict[int, Any] = {}  # kept, so that no id is reused
        for function in functions:
            self.call(Known(function, getattr(function, "__name__", type(function).__name__)))
            self._look_at_what_is_not_followed(function)

    @property
    def hazards(self) -> list[Hazard]:
        """The hazards; none if the function was written for threads."""
        if self.for_threads:
            return []
        found = list(self._hazards.values())
        for key, known in self._grown.items():
            if self._uses[key] > self._growths[key] and key not in self._hazards:
                found.append(Hazard(known.thing, f"both adds to and looks at `{known.name}`"))
        return found

    @property
    def used(self) -> list[Known]:
        """The objects that calls may be seen to change: those named above, and all of the user's that were reached."""
        named = {**self.owners, **self.contents, **self.caches}
        reached = {key: Known(thing, type(thing).__name__) for key, thing in self._reached.items() if is_watched(thing)}
        return list((reached | named).values())

    def found(self, owner: Any, what: str) -> None:
        """Record a hazard; only the first of an object is reported."""
        self.adds(Hazard(owner, what))

    def adds(self, hazard: Hazard | None) -> None:
        """Record a hazard, if it is one; only the first of an object is reported."""
        if hazard is not None:
            self._hazards.setdefault(id(hazard.owner), hazard)

    def call(self, known: Known, *, depth: int = _DEEPEST) -> None:
        """Examine the effects of calling an object."""
        thing = known.thing
        if isinstance(thing, types.FunctionType):
            self._follow(thing, {})
        elif isinstance(thing, types.MethodType):
            self.method(cast("Any", thing.__func__), Known(thing.__self__, "self"))
        elif isinstance(thing, functools.partial):
            self._partial(cast("functools.partial[Any]", thing), depth)
        elif isinstance(thing, CACHED):
            self._cached(known, depth)
        elif isinstance(thing, _BOUND):
            owner = thing.__self__
            self.builtins.add(thing.__name__)
            if owner is not None and not isinstance(owner, types.ModuleType | type):
                self.reaches(Known(owner, known.name), depth=depth)
                self._called_on(Known(owner, known.name), thing.__name__)
        elif isinstance(thing, type):
            self.constructs(thing, [], {})
        elif not isinstance(thing, (*UNCHANGING, types.ModuleType)):
            self._call_object(known)

    def call_given(
        self, function: types.FunctionType, given: list[Known | None], named: dict[str, Known], own: Known | None = None
    ) -> None:
        """Examine a call by the arguments that exist before it, if they can be changed; of a method, by `own` too.

        A constant alone is the key of a value that the function makes once, as a rule.
        """
        if (wrapped := wrapped_by(function)) is not None:
            self.call_given(wrapped, given, named, own)
        names = arguments_by_name(function, [own, *given] if own is not None else given, named)
        changeable = [known for known in names.values() if known is not own and not isinstance(known.thing, UNCHANGING)]
        if changeable:
            self._read_once(function, names, None if own is None else own.thing)

    def constructs(self, cls: type, given: list[Known | None], named: dict[str, Known]) -> None:
        """Examine what a class of the user's does to make an object of these arguments."""
        for name, first in (("__new__", Known(cls, cls.__name__)), ("__init__", None)):
            function = function_behind(class_attribute(cls, name))
            if isinstance(function, types.FunctionType) and not is_library(function.__module__ or cls.__module__):
                self._read_once(function, arguments_by_name(function, [first, *given], named))

    def _read_once(self, function: types.FunctionType, names: dict[str, Known], own: Any = None) -> None:
        key = (id(function), *((name, id(known.thing)) for name, known in names.items()))
        if key not in self._given and len(self._given) < MOST_FOLLOWED:
            self._given.add(key)
            self._reached[id(function)] = function
            self._reached.update({id(known.thing): known.thing for known in names.values()})
            self._read(function, names, own)

    def _call_object(self, known: Known) -> None:
        self._reached[id(known.thing)] = known.thing
        method = class_attribute(type(known.thing), "__call__")
        if isinstance(known.thing, np.vectorize):  # its own code writes only while it is made
            self.reaches(Known(known.thing.pyfunc, known.name))
        elif isinstance(method, types.FunctionType):
            self.method(method, Known(known.thing, "self"))
        elif callable(known.thing):
            self.is_known = False

    def _cached(self, known: Known, depth: int) -> None:
        """Follow the function behind a cache, and examine the results that it has kept so far."""
        self.caches.setdefault(id(known.thing), known)
        if depth:
            self.call(Known(getattr(known.thing, "__wrapped__", known.thing), known.name))
        for result in islice(kept_by(known.thing), _MOST_ITEMS):
            self.reaches(Known(result, f"{known.name}()"), depth=depth - 1)

    def _partial(self, partial: functools.partial[Any], depth: int) -> None:
        given = [Known(value, "an argument of partial()") for value in partial.args]
        named = {name: Known(value, name) for name, value in partial.keywords.items()}
        for known in (*given, *named.values()):
            self.reaches(known, depth=depth - 1)
        function: Any = partial.func
        if isinstance(function, types.FunctionType):
            names = {
                name: Known(known.thing, name) for name, known in zip(parameters_of(function), given, strict=False)
            }
            self._follow(function, names | named)
        else:
            self.call(Known(function, "partial"), depth=depth - 1)

    def method(self, function: Any, own: Known) -> None:
        """Follow a function as a method of an object."""
        if not isinstance(function, types.FunctionType):
            if isinstance(function, (functools.partialmethod, *CACHED)):
                self.is_known = False
            return
        if (wrapped := wrapped_by(function)) is not None:
            self.method(wrapped, own)
        if is_library(type(own.thing).__module__):
            self.is_known = False  # its own module may do more than can be followed
        if (function.__module__ or "").startswith("penstock."):
            return
        self.owners.setdefault(id(own.thing), own)
        parameters = function.__code__.co_varnames[:1]
        self._follow(function, dict.fromkeys(parameters, own), own.thing)

    def _follow(self, function: types.FunctionType, names: dict[str, Known], own: Any = None) -> None:
        code = function.__code__
        if (id(code), id(own)) in self._followed:
            return
        if len(self._followed) >= MOST_FOLLOWED or code.co_name in ("__init__", "__del__"):
            self.is_known = False
            return
        self._followed.add((id(code), id(own)))
        self.names |= used_names(code)
        self.assigned |= assigned_attributes(code)
        self._reached[id(function)] = function
        self._read(function, names, own)

    def _read(self, function: types.FunctionType, names: dict[str, Known], own: Any = None) -> None:
        code = function.__code__
        cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
        closed = {name: Known(in_cell(cell), name) for name, cell in cells.items() if in_cell(cell) is not ABSENT}
        known = defaults_of(function) | closed | names
        if known or code.co_names or code.co_freevars or has_code_within(code):  # else it uses its arguments alone
            follow(code, known, FunctionFindings(self, function, cells, own), frozenset(cells))

    def _look_at_what_is_not_followed(self, function: Any) -> None:
        """Assume that every name in the code applies to every object of the user's that was reached.

        An object from a collection, a loop or a call is unknown where its method is called, as is an array passed to a
        function.
        """
        seen = 0
        while left := list(islice(self._reached, seen, None)):
            seen += len(left)
            for key in left:
                thing = self._reached[key]
                if isinstance(thing, (types.FunctionType, *UNCHANGING)) or is_library(type(thing).__module__):
                    continue
                for name in sorted(self.names):
                    if (own := own_attribute(thing, name)) is not ABSENT:
                        self.reaches(Known(own, f"{type(thing).__name__}.{name}"))
                    method = function_behind(class_attribute(type(thing), name))
                    if isinstance(method, types.FunctionType):
                        self.method(method, Known(thing, type(thing).__name__))
        for known in list(self.contents.values()):
            if self.names & (WRITERS if isinstance(known.thing, np.ndarray) else LIST_WRITERS):
                self.found(known.thing, f"may write into `{known.name}`")
        if "setattr" in self.names:
            self.found(function, "sets attributes by their names")

    def reaches(self, known: Known, *, depth: int = _DEEPEST) -> None:
        """Examine an object that the code uses."""
        thing = known.thing
        self._uses[id(thing)] += 1
        if isinstance(thing, np.ndarray | list | bytearray):
            self.contents.setdefault(id(thing), known)
        if isinstance(thing, (*UNCHANGING, np.ndarray)):
            return
        if id(thing) in self._reached:
            return
        self._reached[id(thing)] = thing
        if is_for_threads(thing):
            self.for_threads = True
        elif (hazard := hazard_of(thing, known.name)) is not None:
            self._hazards.setdefault(id(thing), hazard)
        elif type(thing) in COLLECTIONS:
            if isinstance(thing, dict) and not thing:
                self.caches.setdefault(id(thing), known)
            self._items(known, depth)
        elif isinstance(thing, types.FunctionType):
            if not is_library(thing.__module__):
                self._follow(thing, {})
        elif isinstance(thing, (types.MethodType, functools.partial, *_BOUND, *CACHED)):
            self.call(known, depth=depth)
        elif not isinstance(thing, types.ModuleType):
            self._object(known)

    def _object(self, known: Known) -> None:
        cls = type(known.thing)
        if isinstance(class_attribute(cls, "__call__"), types.FunctionType):
            self.call(known)
        elif is_library(cls.__module__) and cls.__module__ not in ("pathlib", "re", "collections", "enum"):
            self.is_known = False

    def _items(self, known: Known, depth: int) -> None:
        if depth <= 0:
            self.is_known = False
            return
        items = known.thing.values() if isinstance(known.thing, dict) else known.thing
        for item in islice(list(items), _MOST_ITEMS):
            if not isinstance(item, (*UNCHANGING, np.ndarray)):
                self.reaches(Known(item, f"{known.name}[...]"), depth=depth - 1)

    def attribute(self, known: Known, name: str, scope: types.FunctionType) -> Known | None:
        """Return the attribute of an object if it exists without being computed; methods count as called."""
        thing = known.thing
        if isinstance(thing, types.ModuleType):
            self.for_threads |= thing is threading
            if not is_library(scope.__module__):
                self.adds(process_wide_by_name(thing.__name__, name))
            found = getattr(np, name, ABSENT) if thing is np else vars(thing).get(name, ABSENT)  # NumPy loads late
            if is_library(thing.__name__) and not isinstance(found, types.ModuleType):
                found = ABSENT
        else:
            found = own_attribute(thing, name)
            if found is ABSENT:
                found = self._of_class(known, name, scope)
        return known_if_there(found, f"{known.name}.{name}")

    def _of_class(self, known: Known, name: str, scope: types.FunctionType) -> Any:
        """Return the attribute that an object gets from its class, if it is an existing value."""
        thing = known.thing
        is_class = isinstance(thing, type)
        found = class_attribute(thing if is_class else type(thing), name)
        if isinstance(found, types.MemberDescriptorType) and not is_class:
            return slot_of(found, thing)
        function = function_behind(found)
        if isinstance(function, types.FunctionType):
            if not may_follow(function, thing, scope):
                self.is_known = False
                return ABSENT
            self.method(function, Known(thing, known.name))
            return bound_in(found, thing)
        if isinstance(found, types.MethodDescriptorType | types.WrapperDescriptorType):
            self._called_on(known, name)
            return ABSENT
        self.is_known &= found is not ABSENT or is_class
        return found

    def _called_on(self, known: Known, method: str) -> None:
        if changed_by(known.thing, method):
            self.found(known.thing, f"changes `{known.name}`")
        elif grown_by(known.thing, method):
            self._growths[id(known.thing)] += 1
            self._grown[id(known.thing)] = known

"""A place in a module that can be imported: what it holds in this process, and other values for it."""

from __future__ import annotations

import sys
import types
from importlib import import_module
from typing import Any, NamedTuple, TypeAlias

from penstock.core.pickling import Cached, is_dispatch, travels_by_value
from penstock.plan.safety.instructions import ABSENT, in_cell

PlaceSteps: TypeAlias = tuple[str | int, ...]

CACHED_RESULT = "()"
"""The step from a function with `functools.cache` and no parameters to the result that it keeps."""
CODE = "__code__"
"""The step from a function to its code."""
REGISTRY = "registry"
"""The step from a function with `functools.singledispatch` to those that are registered, by class."""


class ModulePlace(NamedTuple):
    """A place in a module: names of attributes, the number of a cell of a closure, or `CACHED_RESULT`.

    >>> print(ModulePlace("json", ("JSONDecoder", "decode")))
    json.JSONDecoder.decode
    """

    module: str
    steps: PlaceSteps

    @property
    def holder(self) -> ModulePlace:
        """The place of the module, class or function of which this is a part."""
        return ModulePlace(self.module, self.steps[:-1])

    def then(self, *steps: str | int) -> ModulePlace:
        """Return a place within this one."""
        return ModulePlace(self.module, (*self.steps, *steps))

    def __str__(self) -> str:
        shown = ["()" if step == CACHED_RESULT else f".{step}" for step in self.steps if isinstance(step, str)]
        return self.module + "".join(shown)

    def value(self) -> Any:
        """Return what the place holds: `None` for any cached result, `ABSENT` if there is nothing."""
        held: Any = sys.modules.get(self.module, ABSENT)
        for step in self.steps:
            held = _at(held, step)
        return held

    def set(self, value: Any) -> None:
        """Let the place hold a value; `ABSENT` leaves nothing there."""
        import_module(self.module)
        holder, step = self.holder.value(), self.steps[-1]
        if step == CACHED_RESULT:
            holder.cache_clear()
            if value is not ABSENT:
                _keep(holder, value)
        elif step == REGISTRY and is_dispatch(holder):
            names = holder.register.__code__.co_freevars
            holder.register.__closure__[names.index(REGISTRY)].cell_contents.clear()
            for cls, function in value.items():
                holder.register(cls, function)
        elif isinstance(step, int):
            holder.__closure__[step].cell_contents = value
        elif value is not ABSENT:
            setattr(holder, step, value)
        elif self.value() is not ABSENT:
            delattr(holder, step)

    def is_of(self, thing: Any) -> bool:
        """Return whether a function, a class or an attribute of a class is what its module has defined there."""
        if isinstance(thing, staticmethod | classmethod):
            return self.then("__func__").is_of(thing.__func__)
        if isinstance(thing, property):
            return getattr(thing.fget, "__module__", None) == self.module
        return isinstance(thing, type | types.FunctionType | Cached) and place_of_name(thing) == self


def place_of_name(thing: Any) -> ModulePlace | None:
    """Return the place by whose name a function or a class travels; `None` if it travels by value."""
    module, names = str(getattr(thing, "__module__", None)), str(thing.__qualname__).split(".")
    if module not in sys.modules or travels_by_value(module):
        return None
    place = ModulePlace(module, tuple(names))
    found = place.value()
    if isinstance(found, staticmethod | classmethod) and found.__func__ is thing:
        return place.then("__func__")
    return place if found is thing else None


def _at(holder: Any, step: str | int) -> Any:
    """Return what is at a step from a module, a class, a function or a descriptor."""
    if isinstance(step, int):
        cells = getattr(holder, "__closure__", None) or ()
        return in_cell(cells[step]) if step < len(cells) else ABSENT
    if step == REGISTRY and is_dispatch(holder):
        return dict(holder.registry)
    if step == CACHED_RESULT:
        return None if hasattr(holder, "cache_info") and holder.cache_info().currsize else ABSENT
    return vars(holder).get(step, ABSENT) if isinstance(holder, type) else getattr(holder, step, ABSENT)


def _keep(cached: Any, value: Any) -> None:
    """Let a function with `functools.cache` and without parameters keep a result, without a call of its own code.

    Only a call of the function that is cached can fill the cache, so the function has other code for that call.
    """
    function = cached.__wrapped__
    code, defaults = function.__code__, function.__kwdefaults__
    try:
        function.__code__, function.__kwdefaults__ = _given.__code__, {"kept": value}
        cached()
    finally:
        function.__code__, function.__kwdefaults__ = code, defaults


def _given(*, kept: Any) -> Any:
    return kept

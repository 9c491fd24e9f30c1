"""Values that a node derives from its inputs' values: computed once, for plans of any depth.

A value is computed from the values of the inputs, and so on. To stay within Python's recursion limit, the values of
some nodes far below are computed first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, Protocol, cast

from penstock.core.cached import cached_property

VALUES = ("length", "indexed", "epochs")
LEVELS = 50
"""The number of values that may be computed recursively."""


class Deriving(Protocol):
    """The parts of a node that derived values depend on."""

    @property
    def inputs(self) -> tuple[Deriving, ...]: ...
    def spec(self) -> Any: ...


def derived(cls: type[Any]) -> None:
    """Cache the derived values and the spec of the nodes of a class, however these are defined."""
    for name in VALUES:
        value = vars(cls).get(name)
        if type(value) is cached_property:
            own = DerivedValue(value.func)
            own.__set_name__(cls, name)
            setattr(cls, name, own)
    if "spec" in vars(cls):
        setattr(cls, "spec", _kept(cls.spec, f"spec of {cls.__name__}"))  # noqa: B010 - pyright knows a method's names


class DerivedValue(cached_property[Any]):
    """A property of a node whose value is cached."""

    def __get__(self, instance: object, owner: type[Any] | None = None) -> Any:
        if instance is not None:
            name = str(self.attrname)
            if cast("Deriving", instance).inputs:
                for below in _far_below(cast("Deriving", instance), lambda each: name in vars(each)):
                    getattr(below, name)
        return super().__get__(instance, owner)


def _kept(spec: Callable[[Any], Any], key: str) -> Callable[[Any], Any]:
    @wraps(spec)
    def kept(self: Deriving) -> Any:
        values = vars(self)
        if key not in values:
            for below in _far_below(self, lambda each: type(each).spec.__dict__.get("key") in vars(each)):
                below.spec()
            values[key] = spec(self)
        return values[key]

    kept.__dict__["key"] = key
    return kept


def _far_below(node: Deriving, is_known: Callable[[Deriving], bool]) -> Iterator[Deriving]:
    """Yield nodes with unknown values at depth `LEVELS`, or a multiple of it; the lowest first."""
    found: list[Deriving] = []
    seen: set[int] = set()
    level, depth = [node], 0
    while level:
        level = [below for each in level for below in each.inputs if id(below) not in seen and not is_known(below)]
        seen.update(map(id, level))
        depth += 1
        if depth % LEVELS == 0:
            found += level
    return reversed(found)

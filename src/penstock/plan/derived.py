"""Values that a node derives from those of its inputs: kept once they are known, and found in plans of any depth.

A value asks for those of the inputs, which ask for those of theirs. So that this ends within what Python allows, the
values of some nodes far below are found first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from penstock.plan.node import Node

VALUES = ("length", "indexed", "epochs")
LEVELS = 50
"""Values that may be asked for one inside another."""


def derived(cls: type[Node]) -> None:
    """Keep the values and the spec of the nodes of a class, however these are defined."""
    for name in VALUES:
        value = vars(cls).get(name)
        if type(value) is cached_property:
            own = DerivedValue(value.func)
            own.__set_name__(cls, name)
            setattr(cls, name, own)
    if "spec" in vars(cls):
        setattr(cls, "spec", _kept(cls.spec, f"spec of {cls.__name__}"))  # noqa: B010 - pyright knows a method's names


class DerivedValue(cached_property[Any]):
    """A property of a node whose value is kept."""

    def __get__(self, instance: object, owner: type[Any] | None = None) -> Any:
        if instance is not None:
            name = str(self.attrname)
            if cast("Node", instance).inputs:
                for below in _far_below(cast("Node", instance), lambda each: name in vars(each)):
                    getattr(below, name)
        return super().__get__(instance, owner)


def _kept(spec: Callable[[Node], Any], key: str) -> Callable[[Node], Any]:
    @wraps(spec)
    def kept(self: Node) -> Any:
        values = vars(self)
        if key not in values:
            for below in _far_below(self, lambda each: type(each).spec.__dict__.get("key") in vars(each)):
                below.spec()
            values[key] = spec(self)
        return values[key]

    kept.__dict__["key"] = key
    return kept


def _far_below(node: Node, is_known: Callable[[Node], bool]) -> Iterator[Node]:
    """Nodes whose values are unknown and as far down as `LEVELS`, or a multiple of that; the lowest first."""
    found: list[Node] = []
    seen: set[int] = set()
    level, depth = [node], 0
    while level:
        level = [below for each in level for below in each.inputs if id(below) not in seen and not is_known(below)]
        seen.update(map(id, level))
        depth += 1
        if depth % LEVELS == 0:
            found += level
    return reversed(found)

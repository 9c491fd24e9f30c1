"""A cached property that takes no lock."""

from __future__ import annotations

import functools
from typing import Any, TypeVar

T_co = TypeVar("T_co", covariant=True)


class cached_property(functools.cached_property[T_co]):  # noqa: N801 - the name of what it replaces
    """A property that is computed on first use and then kept in the object's `__dict__`, as `functools` has it.

    The one of Python 3.11 holds a lock of its class while it computes. A process that is forked meanwhile, by another
    thread, would wait for that lock forever. This one holds none. Threads that ask at once may each compute the value;
    all receive the one that was kept first.

    >>> class Circle:
    ...     def __init__(self, radius):
    ...         self.radius = radius
    ...
    ...     @cached_property
    ...     def area(self):
    ...         print("computed")
    ...         return 3 * self.radius**2
    >>> circle = Circle(2)
    >>> circle.area, circle.area
    computed
    (12, 12)
    """

    def __get__(self, instance: object | None, owner: type[Any] | None = None) -> Any:
        if instance is None:
            return self
        name = self.attrname
        if name is None:
            raise TypeError("this cached property has no name: assign it in the body of a class")
        kept = vars(instance)
        return kept[name] if name in kept else kept.setdefault(name, self.func(instance))

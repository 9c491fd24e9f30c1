"""`frozen`, the decorator of immutable values: dataclasses that are cheap to make while their module is imported.

`dataclass(frozen=True)` compiles six methods for each class, which took a third of the time of `import penstock` and of
a first batch. Here only `__init__` is compiled; the others are closures over the names of the fields.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import FrozenInstanceError, dataclass, field, fields
from reprlib import recursive_repr
from typing import Any, TypeVar, dataclass_transform

C = TypeVar("C", bound=type)


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(*, eq: bool = True, repr: bool = True, kw_only: bool = False) -> Callable[[C], C]:
    """Make the class a dataclass of which no field can be set twice, as `dataclass(frozen=True)` with these arguments.

    Without `eq` and `repr`, the class keeps the methods that it inherits. Bases that are dataclasses must be frozen by
    this decorator too.
    """

    def decorate(cls: C) -> C:
        own = {
            name for name, value in vars(cls).items() if value is not None
        }  # `__hash__` is `None` beside an `__eq__`
        made: Any = dataclass(eq=False, repr=False, kw_only=kw_only)(cls)
        known = fields(made)
        methods = _kept(frozenset(field.name for field in known))
        if eq:
            methods |= _compared(tuple(field.name for field in known if field.compare))
        if repr:
            methods |= _shown(tuple(field.name for field in known if field.repr))
        for name, method in methods.items():
            if name not in own:
                setattr(made, name, method)
        return made

    return decorate


def _kept(names: frozenset[str]) -> dict[str, Callable[..., Any]]:
    """Return the methods that let `__init__` set each field, and nothing be changed or deleted afterwards."""

    def set_once(self: Any, name: str, value: Any) -> None:
        if name in vars(self) or name not in names:
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        object.__setattr__(self, name, value)

    def refuse(self: Any, name: str) -> None:
        raise FrozenInstanceError(f"cannot delete field {name!r}")

    return {"__setattr__": set_once, "__delattr__": refuse}


def _compared(names: tuple[str, ...]) -> dict[str, Callable[..., Any]]:
    """Return the methods that compare two values of one class by these fields."""

    def values(self: Any) -> tuple[Any, ...]:
        return tuple([getattr(self, name) for name in names])

    def equal(self: Any, other: object) -> bool:
        return values(self) == values(other) if type(other) is type(self) else NotImplemented

    return {"__eq__": equal, "__hash__": lambda self: hash(values(self))}


def _shown(names: tuple[str, ...]) -> dict[str, Callable[..., Any]]:
    """Return the method that shows these fields."""

    @recursive_repr()
    def shown(self: Any) -> str:
        return f"{type(self).__qualname__}({', '.join([f'{name}={getattr(self, name)!r}' for name in names])})"

    return {"__repr__": shown}

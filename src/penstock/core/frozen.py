"""`frozen`, the decorator of immutable values: dataclasses that are cheap to make while their module is imported.

`dataclass(frozen=True)` compiles six methods for each class, which took a third of the time of `import penstock` and of
a first batch. Here nothing is compiled; all methods are closures over the names of the fields.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field, fields
from inspect import Parameter, Signature
from reprlib import recursive_repr
from typing import Any, NoReturn, TypeVar, dataclass_transform

C = TypeVar("C", bound=type)


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(*, eq: bool = True, repr: bool = True, kw_only: bool = False) -> Callable[[C], C]:
    """Make the class a dataclass of which no field can be set, as `dataclass(frozen=True)` with these arguments.

    Without `eq` and `repr`, the class keeps the methods that it inherits. Bases that are dataclasses must be frozen by
    this decorator too.
    """

    def decorate(cls: C) -> C:
        own = {
            name for name, value in vars(cls).items() if value is not None
        }  # `__hash__` is `None` beside an `__eq__`
        made: Any = dataclass(init=False, eq=False, repr=False, kw_only=kw_only)(cls)
        known = fields(made)
        methods = _KEPT | _filled(made, known)
        if eq:
            methods |= _compared(tuple(field.name for field in known if field.compare))
        if repr:
            methods |= _shown(tuple(field.name for field in known if field.repr))
        for name, method in methods.items():
            if name not in own:
                setattr(made, name, method)
        return made

    return decorate


def _refuse_to_set(self: Any, name: str, value: Any) -> NoReturn:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(self: Any, name: str) -> NoReturn:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


_KEPT: dict[str, Any] = {"__setattr__": _refuse_to_set, "__delattr__": _refuse_to_delete}
"""The methods that let nothing be changed or deleted."""


def _filled(cls: type, known: Sequence[Field[Any]]) -> dict[str, Any]:
    """Return the method that sets these fields from arguments, and the signature of the class."""
    taken = [field for field in known if field.init]
    names = frozenset(field.name for field in taken)
    by_position = tuple(field.name for field in taken if not field.kw_only)
    factories = {field.name: field.default_factory for field in known if field.default_factory is not MISSING}
    defaults = {field.name: field.default for field in known}  # in the order of the fields
    needed = names - factories.keys() - {name for name, default in defaults.items() if default is not MISSING}
    is_checked = hasattr(cls, "__post_init__")
    signature = _Signature(taken)

    def filled(self: Any, /, *given: Any, **named: Any) -> None:
        all_by_position = len(given) == len(known) == len(by_position) and not named
        vars(self).update(zip(by_position, given, strict=True) if all_by_position else values(self, given, named))
        if is_checked:
            self.__post_init__()

    def values(self: Any, given: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
        passed = dict(zip(by_position, given, strict=False))
        is_clear = len(passed) == len(given) and passed.keys().isdisjoint(named)
        passed |= named
        if not (is_clear and needed <= passed.keys() <= names):
            raise signature.refusal(type(self).__qualname__, given, named)
        made = {name: make() for name, make in factories.items() if name not in passed}
        return defaults | passed | made

    return {"__init__": filled, "__signature__": signature}


class _Signature:
    """The arguments of a class, for `help` and `inspect.signature`; an instance that is called has others."""

    def __init__(self, taken: Sequence[Field[Any]]) -> None:
        self._taken = taken

    def __get__(self, instance: object, owner: type) -> Signature:
        if instance is not None:
            raise AttributeError("__signature__")
        return self._made()

    def _made(self) -> Signature:
        by_name = [_parameter(field) for field in self._taken]
        return Signature(sorted(by_name, key=lambda parameter: parameter.kind))

    def refusal(self, name: str, given: tuple[Any, ...], named: dict[str, Any]) -> TypeError:
        """Return the error for arguments that do not fit."""
        try:
            self._made().bind(*given, **named)
        except TypeError as error:
            return TypeError(f"{name}(): {error}")
        raise AssertionError(f"{name}() refused arguments that fit")


def _parameter(field: Field[Any]) -> Parameter:
    """Return the parameter of a field; `...` stands for a default that is made anew each time."""
    kind = Parameter.KEYWORD_ONLY if field.kw_only else Parameter.POSITIONAL_OR_KEYWORD
    default = field.default if field.default_factory is MISSING else ...
    return Parameter(
        field.name, kind, default=Parameter.empty if default is MISSING else default, annotation=field.type
    )


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

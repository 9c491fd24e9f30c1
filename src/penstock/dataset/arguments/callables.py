"""Functions of one element, as type checkers see them: a tuple is passed as arguments, `rng` may be asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias, TypeVar, overload

T = TypeVar("T")
U = TypeVar("U")
R_co = TypeVar("R_co", covariant=True)


class AnyCall(Protocol[R_co]):
    """A function of any parameters, such as one with `rng`.

    `Callable[..., R]` says the same; beside it pyright would not see what a lambda's parameters are. It passes over
    what is overloaded, so this is.
    """

    @overload
    def __call__(self, *args: Any, **named: Any) -> R_co: ...
    @overload
    def __call__(self, *args: Any, **named: Any) -> R_co: ...  # pyright: ignore[reportOverlappingOverload]


ElementFunction: TypeAlias = Callable[[T], U] | Callable[[Any, Any], U] | Callable[[Any, Any, Any], U] | AnyCall[U]
"""A function of an element of type `T`, or of the parts of a tuple, that returns a `U`."""

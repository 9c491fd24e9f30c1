"""Types of functions of one element: a tuple is passed as several arguments, and `rng` is optional."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias, TypeVar, overload

T = TypeVar("T")
U = TypeVar("U")
R_co = TypeVar("R_co", covariant=True)


class AnyCall(Protocol[R_co]):
    """A function of any parameters, such as one with `rng`.

    `Callable[..., R]` would mean the same, but in a union with it pyright does not infer a lambda's parameters. Pyright
    skips overloaded members in that inference, so this one is overloaded.
    """

    @overload
    def __call__(self, *args: Any, **named: Any) -> R_co: ...
    @overload
    def __call__(self, *args: Any, **named: Any) -> R_co: ...  # pyright: ignore[reportOverlappingOverload]


ElementCallable: TypeAlias = Callable[[T], U] | Callable[[Any, Any], U] | Callable[[Any, Any, Any], U] | AnyCall[U]
"""A function of an element of type `T`, or of the parts of a tuple, that returns a `U`."""

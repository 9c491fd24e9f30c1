"""Give a method of `penstock.Dataset` the argument `name` that every call of `tf.data` takes."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any


def labelled(method: Callable[..., Any], made: Callable[[Any], Any] | None = None) -> Callable[..., Any]:
    """Return `method` with an argument `name`, which only labels and is let go; `made` is called with what it returns.

    >>> labelled(len)([1, 2], name="two")
    2
    """

    @wraps(method)
    def call(*args: Any, name: str | None = None, **settings: Any) -> Any:
        check_name(name)
        result = method(*args, **settings)
        return result if made is None else made(result)

    return call


def check_name(name: object) -> None:
    """Refuse what is no label: an argument in the wrong place, perhaps."""
    if not isinstance(name, str | None):
        raise TypeError(f"name={name!r}: expected a text, not {type(name).__name__}")

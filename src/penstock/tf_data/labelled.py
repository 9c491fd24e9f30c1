"""Give a method of `penstock.Dataset` the argument `name` that every call of `tf.data` takes."""

from __future__ import annotations

import inspect
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

    call.__signature__ = _with_name(inspect.signature(method))  # pyright: ignore[reportAttributeAccessIssue] - what inspect looks at
    return call


def _with_name(signature: inspect.Signature) -> inspect.Signature:
    """The signature with the argument `name`, which is a keyword."""
    name = inspect.Parameter("name", inspect.Parameter.KEYWORD_ONLY, default=None, annotation="str | None")
    parameters = list(signature.parameters.values())
    rest = parameters[-1:] if parameters and parameters[-1].kind is inspect.Parameter.VAR_KEYWORD else []
    return signature.replace(parameters=[*parameters[: len(parameters) - len(rest)], name, *rest])


def check_name(name: object) -> None:
    """Refuse what is no label: an argument in the wrong place, perhaps."""
    if not isinstance(name, str | None):
        raise TypeError(f"name={name!r}: expected a text, not {type(name).__name__}")

"""The argument `name`, which every call of `tf.data` takes, for methods of `penstock.Dataset`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any


def labelled(method: Callable[..., Any], made: Callable[[Any], Any] | None = None) -> Callable[..., Any]:
    """Return `method` with an argument `name`, which is only a label; `made` is called with each result.

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
    """Return the signature with the keyword argument `name`."""
    name = inspect.Parameter("name", inspect.Parameter.KEYWORD_ONLY, default=None, annotation="str | None")
    parameters = list(signature.parameters.values())
    rest = parameters[-1:] if parameters and parameters[-1].kind is inspect.Parameter.VAR_KEYWORD else []
    return signature.replace(parameters=[*parameters[: len(parameters) - len(rest)], name, *rest])


def check_name(name: object) -> None:
    """Raise an error for anything but a label, such as an argument in the wrong place."""
    if not isinstance(name, str | None):
        raise TypeError(f"name={name!r}: expected a string, not {type(name).__name__}")

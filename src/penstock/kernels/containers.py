"""Containers made anew, perhaps around other leaves; `reference.containers` is the twin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from penstock.kernels import _native

ChangeOf: TypeAlias = Callable[[type], Callable[[Any], Any] | None]
"""Return the function that changes the values of a type, or `None` where they stay."""


def remade(values: list[Any], change_of: ChangeOf, *, always: bool) -> list[Any]:
    """Return the values with new dicts, lists and tuples, at all depths, for those in which something changes.

    `change_of(type)` says how values of any other type change. Where `always`, dicts and lists count as changed. The
    list `values` itself is returned where none of its values changes, and never written to. Nesting that contains
    itself is a `RecursionError`.

    >>> element = {"x": [1, 2.5]}
    >>> (copy,) = remade([element], lambda cls: None, always=True)
    >>> copy == element, copy is element, copy["x"] is element["x"]
    (True, False, False)
    """
    return _native.remade(values, change_of, always)

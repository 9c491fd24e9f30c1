"""Copies of containers, with leaves changed by type; `reference.containers` is the twin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from penstock.kernels import _native

ChangeOf: TypeAlias = Callable[[type], Callable[[Any], Any] | None]
"""A function from a type to the function that changes its values, or `None` if they stay."""


def remade(
    values: list[Any], change_of: ChangeOf, *, always: bool, seal: bool = False, spare_own: bool = False
) -> list[Any]:
    """Return the values with new dicts, lists and tuples, at all depths, wherever something changes.

    `change_of(type)` returns the change for values of any other type. With `always`, dicts and lists count as changed.
    If no value changes, the list `values` itself is returned; it is never modified. Nesting that contains itself raises
    a `RecursionError`. With `seal`, values of exactly `np.ndarray` become read-only views, whatever `change_of` says;
    with `spare_own` not those to which, and to whose containers, nothing else refers.

    >>> element = {"x": [1, 2.5]}
    >>> (copy,) = remade([element], lambda cls: None, always=True)
    >>> copy == element, copy is element, copy["x"] is element["x"]
    (True, False, False)
    """
    return _native.remade(values, change_of, always, seal, spare_own)


def are_parts_of_others(values: list[Any]) -> bool:
    """Return True if the values consist of numbers, short texts, and arrays and texts to which something else refers.

    >>> import numpy as np
    >>> kept = np.zeros(2)
    >>> are_parts_of_others([{"x": kept, "y": (kept[:1], 3)}]), are_parts_of_others([{"x": kept + 1}])
    (True, False)
    """
    return _native.are_parts_of_others(values)


def prefetch_dicts(values: list[Any]) -> None:
    """Request the parts of dicts from memory, for a loop that reads all of them soon."""
    _native.prefetch_dicts(values)

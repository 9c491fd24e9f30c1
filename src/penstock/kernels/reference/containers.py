"""Copies of containers in plain Python: the reference for the native loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def remade(
    values: list[Any], change_of: Callable[[type], Callable[[Any], Any] | None], *, always: bool, seal: bool = False
) -> list[Any]:
    """Return the values with new dicts, lists and tuples, at all depths, wherever something changes.

    >>> remade([("a", [1j])], {complex: abs}.get, always=False)
    [('a', [1.0])]
    """
    change = (lambda cls: _read_only if cls is np.ndarray else change_of(cls)) if seal else change_of
    made = [_remade(value, change, always) for value in values]
    return made if any(new is not old for new, old in zip(made, values, strict=True)) else values


def _remade(value: Any, change_of: Callable[[type], Callable[[Any], Any] | None], always: bool) -> Any:
    cls = type(value)
    if cls in (int, str, float, bytes, bool, type(None)):
        return value
    if cls is dict:
        parts = {key: _remade(part, change_of, always) for key, part in value.items()}
        changed = any(parts[key] is not value[key] for key in value)
        return parts if always or changed else value
    if cls in (list, tuple):
        items = [_remade(part, change_of, always) for part in value]
        changed = any(new is not old for new, old in zip(items, value, strict=True))
        return cls(items) if changed or (always and cls is list) else value
    change = change_of(cls)
    return value if change is None else change(value)


def _read_only(array: Any) -> Any:
    if not array.flags.writeable:
        return array
    view = array[...]
    view.setflags(write=False)
    return view

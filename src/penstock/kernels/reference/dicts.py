"""Dicts taken apart, in plain Python: what the native loop is held against."""

from __future__ import annotations

from typing import Any


def take_dicts_apart(dicts: list[Any], keys: list[Any]) -> list[list[Any]] | None:
    """Return for each key the list of what the dicts have there; `None` where one is no dict of these keys alone.

    >>> print(take_dicts_apart([{"x": 1}, {"x": 1, "y": 2}], ["x"]))
    None
    """
    if any(type(each) is not dict or each.keys() != set(keys) for each in dicts):
        return None
    return [[each[key] for each in dicts] for key in keys]

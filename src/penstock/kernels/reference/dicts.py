"""Dicts to columns in plain Python: the reference for the native loop."""

from __future__ import annotations

from typing import Any


def take_dicts_apart(dicts: list[Any], keys: list[Any]) -> list[list[Any]] | None:
    """Return the list of the dicts' values for each key; `None` if a value is not a dict of exactly these keys.

    >>> print(take_dicts_apart([{"x": 1}, {"x": 1, "y": 2}], ["x"]))
    None
    """
    if any(type(each) is not dict or each.keys() != set(keys) for each in dicts):
        return None
    return [[each[key] for each in dicts] for key in keys]

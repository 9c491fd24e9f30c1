"""Dicts of the same keys become columns; `reference.dicts` is the twin."""

from __future__ import annotations

from typing import Any

from penstock.kernels import _native


def take_dicts_apart(dicts: list[Any], keys: list[Any]) -> list[list[Any]] | None:
    """Return for each key the list of what the dicts have there; `None` where one is no dict of these keys alone.

    >>> take_dicts_apart([{"x": 1, "y": 2}, {"y": 4, "x": 3}], ["x", "y"])
    [[1, 3], [2, 4]]
    """
    return _native.take_dicts_apart(dicts, keys)

"""Convert dicts with equal keys to columns; `reference.dicts` is the twin."""

from __future__ import annotations

from typing import Any

from penstock.kernels import _native


def take_dicts_apart(dicts: list[Any], keys: list[Any]) -> list[list[Any]] | None:
    """Return the list of the dicts' values for each key; `None` if a value is not a dict of exactly these keys.

    >>> take_dicts_apart([{"x": 1, "y": 2}, {"y": 4, "x": 3}], ["x", "y"])
    [[1, 3], [2, 4]]
    """
    return _native.take_dicts_apart(dicts, keys)

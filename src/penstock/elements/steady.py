"""Check that a value that is carried from element to element keeps its type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import numpy as np

from penstock.elements.spec import ArraySpec, describe, leaf_spec

RETURNED_NO_STATE = "returned None; return the next state (a forgotten `return`?)"
_PLAIN = frozenset((int, float, bool, complex, str, bytes))


def change_of(before: Any, after: Any, path: str = "") -> str:
    """Return a description of a change of type within a value, or an empty text if there is none.

    Numbers and arrays must keep their dtype and number of dimensions, dicts their keys, tuples their length. Lists may
    grow, `None` may become anything, and other objects must only keep their type.

    >>> change_of({"sum": 0, "seen": []}, {"sum": 7, "seen": [3, 4]})
    ''
    >>> change_of({"sum": 0}, {"sum": 0.5})
    "['sum'] was int64 and became float64"
    """
    kind = type(before)
    if before is None or (type(after) is kind and kind in _PLAIN):
        return ""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        return _of_parts(dict(cast("Mapping[Any, Any]", before)), dict(cast("Mapping[Any, Any]", after)), path)
    if isinstance(before, tuple) and type(after) is kind:
        was, became = (dict(enumerate(cast("tuple[Any, ...]", value))) for value in (before, after))
        return _of_parts(was, became, path)
    told, told_now = _told(before), _told(after)
    return "" if told == told_now else f"{path or 'it'} was {told} and became {told_now}"


def _of_parts(before: dict[Any, Any], after: dict[Any, Any], path: str) -> str:
    if before.keys() != after.keys():
        return f"{path or 'it'} had {sorted(before, key=repr)} and has {sorted(after, key=repr)}"
    said = (change_of(part, after[key], f"{path}[{key!r}]") for key, part in before.items())
    return next(filter(None, said), "")


def _told(value: Any) -> str:
    if type(value) in _PLAIN or isinstance(value, np.ndarray | np.generic):
        spec = leaf_spec(value)
        if isinstance(spec, ArraySpec):
            return describe(ArraySpec((None,) * len(spec.shape), spec.dtype))
        return describe(spec)
    return type(value).__qualname__

"""The nesting of elements of dicts, tuples and lists, as JSON data."""

from __future__ import annotations

from typing import Any

from penstock.core.errors import ElementError
from penstock.elements.nested.structure import flatten

PLAIN_TYPES: frozenset[type] = frozenset([bool, int, float, complex, str, bytes, type(None)])
"""Immutable built-in types."""


def nesting_of(element: Any, call: str) -> Any:
    """Return an element's nesting as JSON data; raise an `ElementError` for named tuples and dataclasses.

    >>> nesting_of({"x": 1, "y": (2, None)}, "save()")
    {'dict': [['x', 'leaf'], ['y', {'tuple': ['leaf', 'none']}]]}
    """
    if element is None:
        return "none"
    if type(element) is dict:
        if not all(isinstance(key, str) for key in element):
            raise ElementError(f"{call}: a dict has the keys {list(element)!r:.60}; map them to strings")
        return {"dict": [[key, nesting_of(value, call)] for key, value in element.items()]}
    if type(element) in (tuple, list):
        return {type(element).__name__: [nesting_of(value, call) for value in element]}
    if flatten(element)[1].num_leaves == 1 and flatten(element)[0][0] is element:
        return "leaf"
    raise ElementError(f"{call}: an element contains a {type(element).__name__}; map it to a dict or a tuple")


def element_of(nesting: Any) -> Any:
    """Return an element of zeros with this nesting; raise a `ValueError` for anything else.

    >>> element_of({"tuple": ["leaf", "none"]})
    (0, None)
    """
    if nesting == "leaf":
        return 0
    if nesting == "none":
        return None
    (kind, inside), *more = nesting.items()
    if not more and kind == "dict":
        return {str(key): element_of(value) for key, value in inside}
    if not more and kind in ("tuple", "list"):
        return {"tuple": tuple, "list": list}[kind](map(element_of, inside))
    raise ValueError(f"nesting {nesting!r:.60}")

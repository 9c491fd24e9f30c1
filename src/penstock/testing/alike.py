"""Comparison of elements to the last bit, and descriptions of their differences."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from penstock.elements.nested.structure import flatten, paths
from penstock.elements.ragged import Ragged
from penstock.elements.sparse import Sparse
from penstock.elements.spec import leaf_spec

MISSING = object()
"""A placeholder for an element that did not come."""


def same(a: Any, b: Any) -> bool:
    """Return whether two elements are exactly equal: nesting, types, shapes, dtypes and every bit, also of a NaN.

    >>> same({"x": np.float32([1, np.nan])}, {"x": np.float32([1, np.nan])})
    True
    >>> same(np.int64(1), 1)
    False
    """
    return difference(a, b) is None


def difference(a: Any, b: Any) -> str | None:
    """Return a description of the difference between two elements; `None` if they are exactly equal.

    >>> difference({"x": (1, np.zeros(2))}, {"x": (1, np.zeros(3))})
    'at ["x"][1]: float64[2] against float64[3]'
    """
    if a is MISSING or b is MISSING:
        return "one ended, and the other had " + (repr(b) if a is MISSING else repr(a))
    leaves, structure = flatten(a)
    others, other_structure = flatten(b)
    if structure != other_structure or repr(structure) != repr(other_structure):  # the order of keys counts too
        return f"structure {structure!r} against {other_structure!r}"
    for one, other, path in zip(leaves, others, paths(structure), strict=True):
        found = _leaf_difference(one, other)
        if found is not None:
            return f"at {path}: {found}" if path else found
    return None


def multiset(elements: Iterable[Any]) -> list[str]:
    """Return the elements as sorted texts, equal for equal elements in any order."""
    return sorted(text_of(element) for element in elements)


def text_of(element: Any) -> str:
    """Return the element as a text that is equal for equal elements, and unique for elements of numbers and text."""
    leaves, structure = flatten(element)
    return f"{structure!r}: {[_leaf_text(leaf) for leaf in leaves]}"


def _leaf_difference(one: Any, other: Any) -> str | None:
    if type(one) is not type(other):
        return f"{type(one).__name__} {one!r} against {type(other).__name__} {other!r}"
    if isinstance(one, Ragged | Sparse):
        if one.shape != other.shape or len(one.arrays()) != len(other.arrays()):
            return f"{leaf_spec(one)!r} against {leaf_spec(other)!r}"
        pairs = zip(one.arrays(), other.arrays(), strict=True)
        return next((found for pair in pairs if (found := _array_difference(*pair)) is not None), None)
    if isinstance(one, np.ndarray | np.generic):
        return _array_difference(np.asarray(one), np.asarray(other))
    if isinstance(one, float | complex):
        equal = np.asarray(one).tobytes() == np.asarray(other).tobytes()
    else:
        equal = one is other or bool(one == other)
    return None if equal else f"{one!r} against {other!r}"


def _array_difference(one: np.ndarray, other: np.ndarray) -> str | None:
    if one.dtype != other.dtype or one.shape != other.shape:
        return f"{_described(one)} against {_described(other)}"
    if one.dtype.hasobject:
        pairs = zip(one.ravel().tolist(), other.ravel().tolist(), strict=True)
        return next((found for pair in pairs if (found := difference(*pair)) is not None), None)
    if one.tobytes() == other.tobytes():
        return None
    if one.ndim == 0:
        return f"{one.dtype} {one} against {other.dtype} {other}"
    at = next(index for index in np.ndindex(one.shape) if one[index].tobytes() != other[index].tobytes())
    return f"{_described(one)}: {one[at]} against {other[at]} at {list(at)}"


def _described(array: np.ndarray) -> str:
    return f"{array.dtype}{list(array.shape)}" if array.ndim else str(array.dtype)


def _leaf_text(leaf: Any) -> str:
    if isinstance(leaf, Ragged | Sparse):
        return f"{leaf_spec(leaf)!r} {[_leaf_text(array) for array in leaf.arrays()]}"
    if isinstance(leaf, np.ndarray | np.generic):
        content = [text_of(each) for each in leaf.ravel()] if leaf.dtype.hasobject else np.asarray(leaf).tolist()
        return f"{type(leaf).__name__} {leaf.dtype}{list(leaf.shape)} {content!r}"
    return f"{type(leaf).__name__} {leaf!r}"

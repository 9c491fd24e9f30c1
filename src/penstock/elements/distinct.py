"""Hashable keys that are equal exactly for equal elements."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import lru_cache
from typing import Any, cast

import numpy as np

from penstock.core.digest import hasher
from penstock.core.errors import ElementError
from penstock.elements.nested.plain import PLAIN_TYPES
from penstock.elements.nested.structure import Structure, flatten, is_leaf

_LONGEST = 64
"""Bytes of text or of an array that are kept as they are; longer ones are replaced by a digest."""
_INT64 = np.dtype(np.int64)


def distinct(element: Any) -> Hashable:
    """Return a key that is equal for two elements if and only if their nesting, dtypes, shapes and values are equal.

    The key takes some 100 bytes, whatever the size of the element. A Python number equals the NumPy number of the dtype
    it becomes: `int64`, `float64` or `bool`; 0.0 equals -0.0, and a NaN any NaN. Objects of other types must be
    hashable by their contents.

    >>> distinct(3) == distinct(np.int64(3)), distinct(3) == distinct(np.int32(3)), distinct(1) == distinct(True)
    (True, False, False)
    >>> distinct({"x": np.zeros(2)}) == distinct({"x": np.array([0.0, -0.0])})
    True
    """
    if is_leaf(element):
        return _leaf(element)
    leaves, structure = flatten(element)
    return _once(structure), _short([_leaf(leaf) for leaf in leaves])


@lru_cache(maxsize=256)
def _once(structure: Structure) -> Structure:
    """Return the structure, as one object for all equal structures."""
    return structure


def _leaf(leaf: Any) -> Hashable:
    if type(leaf) is int:  # ints, texts and bytes never equal one another
        return leaf
    if isinstance(leaf, str):
        return str(leaf) if len(leaf) <= _LONGEST else ("str", _digest(leaf.encode("utf-8", "surrogatepass")))
    if isinstance(leaf, bytes):
        return bytes(leaf) if len(leaf) <= _LONGEST else ("bytes", _digest(leaf))
    if type(leaf) in PLAIN_TYPES or isinstance(leaf, np.ndarray | np.generic):
        return _array(np.asarray(leaf))
    cls = type(leaf)
    if cls.__hash__ is object.__hash__:
        raise ElementError(f"a {cls.__name__} only equals itself; pass a key_func= that returns a comparable value")
    try:
        hash(leaf)
    except TypeError:
        raise ElementError(
            f"a {cls.__name__} cannot be hashed; pass a key_func= that returns a hashable value"
        ) from None
    return cast("Hashable", leaf)


def _array(array: np.ndarray) -> Hashable:
    """Return the dtype, shape and values of an array: in native byte order, with one zero and one NaN."""
    dtype = array.dtype.newbyteorder("=")
    if array.ndim == 0 and dtype == _INT64:
        return int(array)
    if dtype.kind in "OV":
        return dtype.str, array.shape, _short([distinct(value) for value in array.ravel().tolist()])
    if dtype.char in "gG":  # long doubles contain arbitrary padding
        return dtype.str, array.shape, _short([repr(value) for value in array.ravel() + 0.0])
    values = np.ascontiguousarray(array, dtype)  # of at least one dimension
    if dtype.kind in "fc":
        values = values + 0.0  # not -0.0
        parts = values.view(values.real.dtype)
        parts[np.isnan(parts)] = np.nan
    content = values.tobytes()
    return dtype.str, array.shape, content if len(content) <= _LONGEST else _digest(content)


def _short(parts: Sequence[Hashable]) -> Hashable:
    """Return a digest of the parts, or the parts themselves if objects are among them."""
    return _digest(repr(parts).encode("utf-8", "surrogatepass")) if all(map(_is_plain, parts)) else tuple(parts)


def _is_plain(part: Hashable) -> bool:
    return type(part) in (int, str, bytes) or (type(part) is tuple and all(map(_is_plain, part)))


def _digest(content: bytes) -> bytes:
    state = hasher()
    state.update(content)
    return state.digest()

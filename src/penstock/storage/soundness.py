"""Checks of the arrays of an index, so that readers need not check again that places lie within the file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Arrays: TypeAlias = Mapping[str, NDArray[Any]]

_AT_ONCE = 1 << 15  # numbers at a time, to stay in the cache


def has_form(arrays: Arrays, dtype: type[np.generic], shapes: Mapping[str, tuple[int | None, ...]]) -> bool:
    """Return whether there are arrays of these names, dtype and shapes, where `None` is any length.

    >>> has_form({"a": np.zeros((5, 2), np.int64)}, np.int64, {"a": (None, 2)})
    True
    """
    return all(
        (array := arrays.get(name)) is not None
        and array.dtype == dtype
        and len(shape) == array.ndim
        and all(wanted in (None, found) for wanted, found in zip(shape, array.shape, strict=True))
        for name, shape in shapes.items()
    )


def are_offsets(arrays: Arrays, most: int, *names: str) -> bool:
    """Return whether each of these is `int64[n + 1]`, of numbers from 0 to `most` that never decrease.

    >>> are_offsets({"a": np.array([0, 3, 3, 9])}, 9, "a"), are_offsets({"a": np.array([0, 4, 3, 9])}, 9, "a")
    (True, False)
    """
    return all(is_sorted(arrays, most, name) and len(arrays[name]) > 0 for name in names)


def is_sorted(arrays: Arrays, most: int, name: str) -> bool:
    """Return whether this is `int64[n]`, of numbers from 0 to `most` that never decrease."""
    if not has_form(arrays, np.int64, {name: (None,)}):
        return False
    array = arrays[name]
    return not len(array) or (array[0] >= 0 and int(array[-1]) <= most and are_in_order(array[:-1], array[1:]))


def are_in_order(low: NDArray[Any], high: NDArray[Any], *, strictly: bool = False) -> bool:
    """Return whether every number in `low` is at most its counterpart in `high`, or less if `strictly`.

    >>> are_in_order(np.array([1, 2]), np.array([2, 2])), are_in_order(np.array([2]), np.array([2]), strictly=True)
    (True, False)
    """
    compare = np.less if strictly else np.less_equal
    parts = (slice(start, start + _AT_ONCE) for start in range(0, len(low), _AT_ONCE))  # there may be 10⁸ numbers
    return all(bool(compare(low[part], high[part]).all()) for part in parts)


def are_within(array: NDArray[Any], most: int) -> bool:
    """Return whether all numbers are from 0 to `most`."""
    return not array.size or (int(array.min()) >= 0 and int(array.max()) <= most)

"""Results of a function as columns in plain Python: the reference for the native loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

_NUMBERS: dict[type, Any] = {int: np.int64, float: np.float64, bool: np.bool_}


def results_apart(
    function: Callable[[Any], Any],
    elements: list[Any],
    first: Any,
    keys: list[Any] | int | None,
    places: list[NDArray[Any] | None],
) -> list[list[Any] | NDArray[Any]] | None:
    """Return the column of each part of `function(element)` for all elements; `first` is the first result, made before.

    >>> results_apart(abs, [-1, 2], 1, None, [np.zeros(2, np.int64)])
    [array([1, 2])]
    """
    if any(type(element) is tuple for element in elements[1:]):
        return None
    try:
        parts = [_parts(result, keys) for result in (first, *map(function, elements[1:]))]
    except Exception:  # noqa: BLE001 (of the function, whatever it is)
        return None
    if None in parts or any(len(each or ()) != len(places) for each in parts):
        return None
    columns = [_column(list(values), place) for values, place in zip(zip(*parts, strict=True), places, strict=True)]
    return None if any(column is None for column in columns) else columns


def _parts(result: Any, keys: list[Any] | int | None) -> list[Any] | None:
    if keys is None:
        return [result]
    if isinstance(keys, int):
        return list(result) if type(result) is tuple and len(result) == keys else None
    return [result[key] for key in keys] if type(result) is dict and result.keys() == set(keys) else None


def _column(values: list[Any], place: NDArray[Any] | None) -> Any:
    types = set(map(type, values))
    cls = types.pop()
    if types:
        return None
    if place is None:
        is_leaf = cls in (str, bytes, complex, np.ndarray) or (issubclass(cls, np.generic) and cls is not np.void)
        return values if is_leaf else None
    if cls is np.ndarray:
        if any(value.dtype != place.dtype or value.shape != place.shape[1:] for value in values):
            return None
    elif (
        place.ndim != 1
        or place.dtype != _NUMBERS.get(cls)
        or (cls is int and not all(-(2**63) <= n < 2**63 for n in values))
    ):
        return None
    place[...] = values
    return place

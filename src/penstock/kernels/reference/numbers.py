"""Convert lists of numbers and of their texts to arrays, and flags to positions, in NumPy."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

_DIGITS = re.compile(rb"-?[0-9]+")
_TYPES: dict[Any, type] = {np.dtype(np.int64): int, np.dtype(np.float64): float, np.dtype(np.bool_): bool}


def copy_numbers(values: list[Any], out: NDArray[Any]) -> bool:
    """Copy numbers into `out`; return whether all are exactly of Python's type for its dtype, and fit."""
    if out.shape != (len(values),):
        raise ValueError("out must be one-dimensional, and have one number for each value")
    if not set(map(type, values)) <= {_TYPES[out.dtype]}:
        return False
    try:
        out[...] = values
    except OverflowError:
        return False
    return True


def parsed_integers(texts: list[Any]) -> NDArray[np.int64] | None:
    """Return the numbers that `bytes` write in decimal digits; `None` for any other form."""
    if not all(isinstance(text, bytes) and _DIGITS.fullmatch(text) for text in texts):
        return None
    numbers = [int(text) for text in texts]
    return np.array(numbers, np.int64) if all(-(2**63) <= number < 2**63 for number in numbers) else None


def true_positions(values: list[Any]) -> NDArray[np.int64] | None:
    """Return the positions of `True`; `None` if a value is neither `True` nor `False`."""
    if not all(value is True or value is False for value in values):
        return None
    return np.flatnonzero(np.array(values, np.bool_))

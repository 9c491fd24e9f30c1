"""Convert lists of Python numbers to arrays, in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

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

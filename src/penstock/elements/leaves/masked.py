"""Masked arrays of NumPy, whose masks would be lost where they become plain arrays."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from penstock.core.errors import ElementError

FILL = "fill it by array.filled(value), or keep array.mask as another leaf"


def is_masked(value: Any) -> bool:
    """Return True for a masked array; `numpy.ma` is not imported for the answer, since it takes longer than Penstock.

    >>> is_masked(np.ma.masked_array([1, 2], mask=[False, True])), is_masked(np.zeros(2))
    (True, False)
    """
    return type(value) is not np.ndarray and "numpy.ma" in sys.modules and isinstance(value, np.ma.MaskedArray)


def refuse_masked(value: Any, what: str) -> None:
    """Raise an `ElementError` if a value, which is `what` in words, is a masked array.

    >>> refuse_masked(np.ma.masked_array([1, 2], mask=[False, True]), "unbatch: the masked array")
    Traceback (most recent call last):
    penstock.core.errors.ElementError: unbatch: the masked array would lose its mask; fill it by array.filled(value)...
    """
    if is_masked(value):
        raise ElementError(f"{what} would lose its mask; {FILL}")

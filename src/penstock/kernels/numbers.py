"""Convert lists of numbers and of their texts to arrays, and flags to positions; `reference.numbers` is the twin."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.kernels import _native

_COPIES = {
    np.dtype(np.int64): _native.copy_ints,
    np.dtype(np.float64): _native.copy_floats,
    np.dtype(np.bool_): _native.copy_bools,
}


def copy_numbers(values: list[Any], out: NDArray[Any]) -> bool:
    """Copy numbers into `out` (`int64`, `float64` or `bool`); return whether all are exactly `int`, `float` or `bool`.

    Copying stops at a number of another type, or one that does not fit; the content of `out` is then undefined. Another
    shape than `(k,)` raises a `ValueError`, another dtype a `KeyError`.

    >>> out = np.empty(2, np.int64)
    >>> copy_numbers([3, 4], out), copy_numbers([3, True], out)
    (True, False)
    """
    return _COPIES[out.dtype](values, out)


def parsed_integers(texts: list[Any]) -> NDArray[np.int64] | None:
    """Return the numbers that `bytes` write in decimal digits, after a minus if negative; `None` for any other form.

    So whitespace, which `int` accepts, and a number beyond `int64` are not parsed, nor is `None` among the texts.

    >>> parsed_integers([b"3", b"-12"]), parsed_integers([b"3", b" 4"])
    (array([  3, -12]), None)
    """
    numbers = np.empty(len(texts), np.int64)
    return numbers if _native.parse_ints(texts, numbers) else None


def true_positions(values: list[Any]) -> NDArray[np.int64] | None:
    """Return the positions of `True`, `int64[n]`; `None` if a value is neither `True` nor `False`.

    >>> true_positions([True, False, True]), true_positions([True, 0])
    (array([0, 2]), None)
    """
    positions = np.empty(len(values), np.int64)
    found = _native.true_positions(values, positions)
    return None if found < 0 else positions[:found]

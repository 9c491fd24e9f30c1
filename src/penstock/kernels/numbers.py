"""Convert lists of Python numbers to arrays; `reference.numbers` is the twin."""

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

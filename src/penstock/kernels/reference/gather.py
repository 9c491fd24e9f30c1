"""Gather in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.core.arrays import Rows


def gather(source: NDArray[Any], rows: Rows, out: NDArray[Any] | None = None) -> NDArray[Any]:
    """Return `source[rows]`, written to `out` if given; raise an `IndexError` for a row outside `[0, n)`."""
    if ((rows < 0) | (rows >= len(source))).any():
        raise IndexError("a row is outside the source")
    return np.take(source, rows, axis=0, out=out, mode="clip" if out is not None else "raise")

"""Footers of Parquet files: checks for damage that pyarrow lacks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.kernels import _native


def consistent_chunks(footer: bytes) -> NDArray[np.bool_]:
    """Return a mask of the column chunks that agree with the schema, `bool[groups * columns]`, by row groups.

    Such a chunk has the type of its column, histograms of levels with the lengths that follow from the schema, minimum
    and maximum values of the right size, and no encryption. The result is empty if the footer cannot be followed.
    """
    return np.frombuffer(_native.consistent_chunks(footer), np.bool_)

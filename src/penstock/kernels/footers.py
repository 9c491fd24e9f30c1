"""Footers of Parquet files, as far as pyarrow has no call that is safe with damaged ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.kernels import _native


def consistent_chunks(footer: bytes) -> NDArray[np.bool_]:
    """Return for each column chunk whether it agrees with the schema, `bool[groups * columns]`, by row groups.

    Of one that does, the type is that of its column, histograms of levels have the lengths that follow from the schema,
    least and greatest values the bytes of a value, and nothing is encrypted. Empty if the footer cannot be followed.
    """
    return np.frombuffer(_native.consistent_chunks(footer), np.bool_)

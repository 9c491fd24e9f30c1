"""Rows of `zip`: the same position of every input."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.core.arrays import Rows
from penstock.index.strided import strided


def paired(rows: Rows, *, length: int, strides: Sequence[int]) -> tuple[Rows, ...]:
    """Return the rows of each input for `rows`; inputs have `strides` rows for each epoch of `length` pairs.

    >>> import numpy as np
    >>> [each.tolist() for each in paired(np.arange(4), length=2, strides=(2, 5))]
    [[0, 1, 2, 3], [0, 1, 5, 6]]
    """
    return tuple(strided(rows, length=length, input_stride=stride) for stride in strides)

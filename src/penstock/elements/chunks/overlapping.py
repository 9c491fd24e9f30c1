"""Columns that share memory, as a column and a view of it that one traced function returns."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray


def do_overlap(columns: Iterable[Any]) -> bool:
    """Return True if the memory of two arrays among the columns, each from its first byte to its last, overlaps.

    >>> column = np.zeros((2, 3))
    >>> do_overlap([column, column.copy(), ["a", "b"]]), do_overlap([column, column[:, ::-1]])
    (False, True)
    """
    arrays = [column for column in columns if isinstance(column, np.ndarray) and column.size]
    if len(arrays) < 2:
        return False
    return any(low < high for (_, high), (low, _) in pairwise(sorted(map(_span, arrays))))


def _span(array: NDArray[Any]) -> tuple[int, int]:
    begin: int = array.__array_interface__["data"][0]
    steps = [(size - 1) * stride for size, stride in zip(array.shape, array.strides, strict=True)]
    return begin + sum(min(step, 0) for step in steps), begin + array.itemsize + sum(max(step, 0) for step in steps)

"""The offsets of rows of different lengths, as integer arrays."""

from __future__ import annotations

from operator import index
from typing import Any, cast

import numpy as np
from numpy.typing import DTypeLike, NDArray

from penstock.core.errors import ElementError

_INT32, _INT64 = np.dtype(np.int32), np.dtype(np.int64)


def begins(lengths: Any, dtype: DTypeLike = _INT64) -> NDArray[Any]:
    """Return the start of each of k rows of these lengths, and the end: shape `(k + 1,)`.

    >>> begins([2, 0, 3]).tolist()
    [0, 2, 2, 5]
    """
    counts = np.asarray(lengths)
    splits = np.zeros(len(counts) + 1, dtype)
    np.cumsum(counts, out=splits[1:])
    return splits


def spread(starts: NDArray[Any], lengths: NDArray[Any]) -> NDArray[np.int64]:
    """Return the positions `starts[i], starts[i] + 1, ...`, `lengths[i]` of them, for one row after another.

    >>> spread(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    splits = begins(lengths)
    return np.arange(splits[-1], dtype=np.int64) + np.repeat(starts - splits[:-1], lengths)


def checked_splits(row_splits: Any, count: int) -> NDArray[Any]:
    """Return splits of `count` values as `int64`, or `int32` if given so; raise an error if they are invalid."""
    splits = np.asarray(row_splits)
    if splits.dtype.kind not in "iu" or splits.ndim != 1:
        raise ElementError(
            f"row_splits: expected one dimension of whole numbers, not {splits.dtype} of shape {splits.shape}"
        )
    if not len(splits) or splits[0] != 0:
        raise ElementError(f"row_splits: the first must be 0, not {splits[:1].tolist()}")
    down = np.flatnonzero(splits[1:] < splits[:-1])
    if len(down):
        at = int(down[0])
        raise ElementError(f"row_splits: must not decrease: {splits[at]}, then {splits[at + 1]} for row {at}")
    if splits[-1] != count:
        raise ElementError(f"row_splits: the last is {splits[-1]}, but there are {count} values")
    return splits if splits.dtype == _INT32 else splits.astype(_INT64, copy=False)


def alike(levels: tuple[NDArray[Any], ...]) -> tuple[NDArray[Any], ...]:
    """Return the splits of several dimensions with one dtype: `int64` if any has it."""
    if len({level.dtype for level in levels}) <= 1:
        return levels
    return tuple(level.astype(_INT64, copy=False) for level in levels)


def split_dtype(dtype: DTypeLike, name: str = "row_splits_dtype") -> np.dtype[Any]:
    """Return a dtype that splits may have; raise an error for any other."""
    try:
        found = np.dtype(dtype)
    except TypeError:
        raise TypeError(f"{name}: expected int32 or int64, not {dtype!r:.80}") from None
    if found not in (_INT32, _INT64):
        raise ValueError(f"{name}: expected int32 or int64, not {found}")
    return found


def position(row: Any, count: int) -> int:
    """Return a position, counted from the end if negative, as one among `count` rows.

    >>> position(-1, 3)
    2
    """
    if isinstance(row, tuple):
        parts = list(map(repr, cast("tuple[Any, ...]", row)))
        raise TypeError(f"rows[{', '.join(parts)}]: index one dimension at a time: rows[{']['.join(parts)}]")
    try:
        found = index(row)
    except TypeError:
        raise TypeError(
            f"rows[{row!r:.60}]: expected a whole number, a slice, or an array or list of numbers or bools, not "
            f"{type(row).__name__}"
        ) from None
    if not -count <= found < count:
        raise IndexError(_missing(found, count))
    return found + count if found < 0 else found


def _missing(row: int, count: int) -> str:
    if not count:
        return f"row {row}: there are no rows"
    return f"row {row} of {count}; there are rows 0 to {count - 1}, and -{count} to -1 counted from the end"


def offset_positions(rows: Any, count: int) -> NDArray[np.int64]:
    """Return a mask, or positions that may be negative, as positions among `count` rows."""
    found = np.asarray(rows)
    if found.dtype == np.bool_:
        if found.shape != (count,):
            raise IndexError(f"a mask of shape {found.shape} for {count} rows; expected shape ({count},)")
        return np.flatnonzero(found)
    if found.ndim != 1 or (found.size and found.dtype.kind not in "iu"):
        raise IndexError(
            f"expected rows as one dimension of whole numbers or bools, not {found.dtype} of shape {found.shape}"
        )
    found = found.astype(np.int64)
    outside = found[(found < -count) | (found >= count)]
    if len(outside):
        raise IndexError(_missing(int(outside[0]), count))
    return np.where(found < 0, found + count, found)

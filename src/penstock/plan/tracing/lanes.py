"""Whether a universal function gives a number in a column what it gives it alone, on this machine.

Sums, products, quotients, square roots and comparisons are exact, so they do by definition. A sine or a maximum comes
from kernels that may treat the end of an array, single numbers and strides each in their own way: so these take memory
without strides, and are tried, once per process, on numbers that tell kernels apart.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

EXACT: frozenset[np.ufunc] = frozenset(
    [
        *(np.add, np.subtract, np.multiply, np.true_divide, np.negative, np.positive, np.absolute, np.fabs),
        *(np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal, np.isnan, np.isfinite),
        *(np.isinf, np.signbit, np.copysign, np.logical_and, np.logical_or, np.logical_xor, np.logical_not),
        *(np.floor, np.ceil, np.trunc, np.rint, np.sqrt, np.square, np.reciprocal, np.sign),
    ]
)
ROWS = (1, 2, 3, 7, 16, 33)  # lengths of arrays
TRIED = 3 * 7 * 16  # numbers, a multiple of most of `ROWS`


def is_exact(ufunc: np.ufunc, dtypes: tuple[np.dtype[Any], ...]) -> bool:
    """Whether there is but one right result for each number, and every kernel gives it.

    >>> is_exact(np.add, (np.dtype("f4"), np.dtype("f4"))), is_exact(np.exp, (np.dtype("f4"),))
    (True, False)
    """
    return ufunc in EXACT or all(dtype.kind in "biu" for dtype in dtypes)


@lru_cache(maxsize=256)
def same_in_columns(ufunc: np.ufunc, dtypes: tuple[np.dtype[Any], ...], *, alone: bool) -> bool:
    """Whether columns equal elements contiguous in memory, or single numbers where those are `alone`: by trying."""
    columns = [_numbers(dtype, at) for at, dtype in enumerate(dtypes)]
    with np.errstate(all="ignore"):
        whole = ufunc(*columns)
        parts = [np.concatenate([ufunc(*rows) for rows in _cut(columns, length)]) for length in ROWS]
        if alone:
            parts.append(np.array([ufunc(*numbers) for numbers in zip(*columns, strict=True)]))
        same = all(equal(part, whole) for part in parts)
        if len(columns) == 2 and same:  # with the same number for all rows
            first, other = columns
            for number in other[:: TRIED // 3]:
                whole = ufunc(first, number)
                for length in ROWS[::2]:
                    same &= equal(np.concatenate([ufunc(row, number) for (row,) in _cut([first], length)]), whole)
                same &= not alone or equal(np.array([ufunc(each, number) for each in first]), whole)
    return bool(same)


def equal(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether two arrays have the same dtype, shape and bits, but for those of NaNs.

    Which NaN comes of two NaNs is not for IEEE 754, nor for NumPy, to say.
    """
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    if one.tobytes() == other.tobytes():
        return True
    if one.dtype.kind != "f":
        return False
    nothing = np.isnan(one)
    return bool(
        np.array_equal(nothing, np.isnan(other))
        and np.array_equal(one[~nothing], other[~nothing])
        and np.array_equal(np.signbit(one[~nothing]), np.signbit(other[~nothing]))
    )


def _cut(columns: list[np.ndarray], length: int) -> list[list[np.ndarray]]:
    return [[column[low : low + length] for column in columns] for low in range(0, TRIED, length)]


def _numbers(dtype: np.dtype[Any], at: int) -> np.ndarray:
    """Numbers of every size and sign, with zeros, infinities, NaNs and denormal ones among them."""
    if dtype.kind != "f":
        return (np.arange(TRIED) * (7 + at) % 11).astype(dtype)
    places = np.arange(TRIED)
    numbers = np.sin(places * (1.7 + at)) * 10.0 ** ((places * (5 + 2 * at)) % 37 - 14)
    near = places % 3 == 0
    numbers[near] = np.cos(places[near] * (0.9 + at)) * 4
    info = np.finfo(dtype.type)
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5, 2.0, float(info.tiny) / 4, float(info.max), 90.0]
    mixed = (places.astype(np.uint64) + np.uint64(977 * at)) * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(40)
    chosen = mixed % np.uint64(2) == 0
    numbers[chosen] = np.array(special)[(mixed[chosen] // np.uint64(2) % np.uint64(len(special))).astype(np.int64)]
    zeros = places % 7 == 0  # pairs of zeros, of any signs
    numbers[zeros] = np.where(mixed[zeros] // np.uint64(64) % np.uint64(2) == 0, 0.0, -0.0)
    with np.errstate(over="ignore"):
        return numbers.astype(dtype)

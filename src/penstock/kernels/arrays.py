"""Loops over lists of arrays, texts and other values; `reference.arrays` is the twin."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.core.arrays import Rows
from penstock.kernels import _native


def copy_array(value: Any, out: NDArray[Any], batch_bytes: int) -> bool:
    """Copy an array into `out`, a row of a batch, if it can be copied as bytes; return whether it was.

    It must be exactly an `np.ndarray`, contiguous, with numbers, times or texts of the shape and dtype of `out`. In any
    other case `out` is unchanged. Large rows of a batch of many bytes (`batch_bytes`) are written past the caches.

    >>> out = np.zeros(3)
    >>> copy_array(np.ones(3), out, out.nbytes), copy_array(np.ones(2), out, out.nbytes), out.tolist()
    (True, False, [1.0, 1.0, 1.0])
    """
    return _native.copy_array(value, out, batch_bytes)


def copy_arrays(values: list[Any], out: NDArray[Any], *, pad: bool = False) -> bool:
    """Copy each array into its row of `out`, if all can be copied as bytes; return whether they were.

    All must be exactly `np.ndarray`, contiguous, with numbers, times or texts of the dtype of `out`, and of the shape
    of its rows; with `pad`, any size may be smaller, and the rest of the row keeps its content. In any other case `out`
    is unchanged.

    >>> out = np.zeros((2, 3), np.int64)
    >>> (
    ...     copy_arrays([np.array([1, 2]), np.array([3])], out),
    ...     copy_arrays([np.array([1, 2]), np.array([3])], out, pad=True),
    ... )
    (False, True)
    >>> out.tolist()
    [[1, 2, 0], [3, 0, 0]]
    """
    return _native.copy_arrays(values, out, pad)


def copy_objects(values: list[Any], cls: type, out: NDArray[Any]) -> bool:
    """Put the values into `out`, `object[k]`, if all are exactly of type `cls`; return whether they were.

    >>> out = np.empty(2, object)
    >>> copy_objects(["a", 1], str, out), copy_objects(["a", "b"], str, out), out.tolist()
    (False, True, ['a', 'b'])
    """
    return _native.copy_objects(values, cls, out)


def items_at(values: list[Any], positions: Rows) -> list[Any] | None:
    """Return the items of a list at these positions, `int64[k]`; `None` if it has no item at one of them.

    >>> items_at(["a", "b"], np.array([1, 0, 1])), items_at(["a"], np.array([1]))
    (['b', 'a', 'b'], None)
    """
    return _native.items_at(values, np.ascontiguousarray(positions))


def largest_shapes(values: list[Any], group: int) -> list[tuple[tuple[int, ...], bool]] | None:
    """Return the largest size of each dimension in every `group` arrays, and whether each array of the group has it.

    The result is `None` unless all values are exactly `np.ndarray`, contiguous, with numbers, times or texts of one
    dtype, and have one number of dimensions. The last group may have fewer arrays.

    >>> largest_shapes([np.zeros((2, 1)), np.zeros((1, 3)), np.zeros((4, 4))], 2)
    [((2, 3), False), ((4, 4), True)]
    >>> largest_shapes([np.zeros(2), [1]], 2) is None
    True
    """
    return _native.largest_shapes(values, group)


def one_type(values: list[Any]) -> type | None:
    """Return the type of all values; `None` if they have several, or there are none.

    >>> one_type([1, 2]), one_type([1, True]), one_type([])
    (<class 'int'>, None, None)
    """
    return _native.one_type(values)

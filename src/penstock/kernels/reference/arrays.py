"""Loops over lists of values, in NumPy and plain Python."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def copy_array(value: Any, out: NDArray[Any], batch_bytes: int) -> bool:
    """Copy an array into `out`, of the same shape and dtype; return whether it has them."""
    fits = isinstance(value, np.ndarray) and value.shape == out.shape
    return fits and copy_arrays([value], out[None])


def copy_arrays(values: list[Any], out: NDArray[Any], *, pad: bool = False) -> bool:
    """Copy each array into its row of `out`; return whether all have its dtype and fit."""
    found = largest_shapes(values, max(len(values), 1))
    if found is None or not (out.flags.c_contiguous and out.flags.writeable) or out.dtype != values[0].dtype:
        return False
    ((shape, is_one),) = found
    if out.ndim != len(shape) + 1 or len(out) != len(values) or any(map(int.__lt__, out.shape[1:], shape)):
        return False
    if not pad and not (is_one and out.shape[1:] == shape):
        return False
    for row, value in zip(out if out.ndim > 1 else out[:, None], values, strict=True):
        row[tuple(map(slice, value.shape))] = value
    return True


def copy_objects(values: list[Any], cls: type, out: NDArray[Any]) -> bool:
    """Put the values into `out`; return whether all are exactly of this type."""
    if out.shape != (len(values),) or out.dtype != object:
        raise ValueError("out must be a one-dimensional array of objects, with one for each value")
    if set(map(type, values)) - {cls}:
        return False
    for i, value in enumerate(values):
        out[i] = value
    return True


def items_at(values: list[Any], positions: NDArray[np.int64]) -> list[Any] | None:
    """Return the items of a list at these positions; `None` if it has no item at one of them."""
    wanted = positions.tolist()
    return [values[at] for at in wanted] if all(0 <= at < len(values) for at in wanted) else None


def largest_shapes(values: list[Any], group: int) -> list[tuple[tuple[int, ...], bool]] | None:
    """Return the largest size of each dimension in every group, and whether each array has it; `None` for others."""
    if set(map(type, values)) != {np.ndarray} or not all(value.flags.c_contiguous for value in values):
        return None
    if len({value.ndim for value in values}) > 1 or any(value.dtype != values[0].dtype for value in values):
        return None
    if values[0].dtype.kind not in "biufcmMSU":
        return None
    groups = [{value.shape for value in values[at : at + group]} for at in range(0, len(values), group)]
    largest = [tuple(map(max, zip(*shapes, strict=True))) for shapes in groups]
    return [(shape, shapes == {shape}) for shape, shapes in zip(largest, groups, strict=True)]


def one_type(values: list[Any]) -> type | None:
    """Return the type of all values; `None` if they have several, or there are none."""
    types = set(map(type, values))
    return types.pop() if len(types) == 1 else None

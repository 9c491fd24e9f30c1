"""Check, concatenate, protect and pad the values inside a leaf of several arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from penstock.core.arrays import Allocate
from penstock.core.errors import ElementError


def as_values(values: Any, dtype: DTypeLike | None = None, *, call: str) -> NDArray[Any]:
    """Return numbers, or text as objects, as an array with a first dimension; raise an error if that is impossible.

    >>> as_values(["a", "bc"], call="example")
    array(['a', 'bc'], dtype=object)
    """
    if isinstance(values, list | tuple) and values and all(isinstance(value, str | bytes) for value in values):
        return np.array(values, object)
    try:
        array: NDArray[Any] = np.asarray(values, dtype)
    except (ValueError, TypeError, OverflowError) as error:
        raise ElementError(f"{call}: the values do not make one array: {error}") from None
    if array.ndim == 0 or (array.dtype.kind in "OUS" and isinstance(values, list | tuple)):
        raise ElementError(f"{call}: {values!r:.60} does not make one array of numbers or of text")
    return array


def memory(shape: tuple[int, ...], dtype: np.dtype[Any], allocate: Allocate) -> NDArray[Any]:
    """Return new memory, from NumPy if it is for objects."""
    return np.empty(shape, dtype) if dtype.hasobject else allocate(shape, dtype)


def end_to_end(arrays: Sequence[NDArray[Any]], allocate: Allocate) -> NDArray[Any]:
    """Return arrays of equal dtype and inner shape end to end: a copy, in memory from `allocate`."""
    first = arrays[0]
    kinds = [(array.dtype, array.shape[1:]) for array in arrays]
    if len(set(kinds)) > 1:
        at = next(i for i, kind in enumerate(kinds) if kind != kinds[0])
        one, other = (f"{dtype}{[None, *inner]}" for dtype, inner in (kinds[0], kinds[at]))
        raise ElementError(f"rows 0 and {at} differ: {one} against {other}; nothing is cast")
    whole = memory((sum(map(len, arrays)), *first.shape[1:]), first.dtype, allocate)
    return np.concatenate(arrays, out=whole)


def own(array: NDArray[Any], allocate: Allocate = np.empty) -> NDArray[Any]:
    """Return the array itself, or a copy if it is read-only."""
    return array if array.flags.writeable else end_to_end([array], allocate)


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Return a read-only view."""
    view = array[...]  # takes a fifth of the time of view() and flags
    view.setflags(write=False)
    return view


def nbytes_of(value: Any) -> int | None:
    """Return the `nbytes` of an object; `None` if it has none, or raises an error, as sparse tensors of PyTorch do.

    >>> nbytes_of(np.zeros(2)), nbytes_of("text")
    (16, None)
    """
    try:
        nbytes = value.nbytes
    except Exception:  # noqa: BLE001 - of any class, whose property may raise anything
        return None
    return nbytes if isinstance(nbytes, int) else None


def empty_value(values: NDArray[Any]) -> Any:
    """Return the padding for such values: zero, `False`, empty text, or empty bytes among bytes.

    >>> empty_value(np.array([b"a", b"b"], object)), empty_value(np.ones(3))
    (b'', np.float64(0.0))
    """
    if values.dtype.kind != "O":
        return np.zeros((), values.dtype)[()]
    first = next(iter(values.flat), None)
    return b"" if isinstance(first, bytes) else ""

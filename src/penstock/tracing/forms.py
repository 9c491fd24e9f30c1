"""The form of a value before it exists: its Python kind in one element, its dtype and its shape."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Any, TypeGuard

import numpy as np

from penstock.elements.spec import ArraySpec


class Kind(Enum):
    """The kind of a value in one element."""

    PYTHON = "a Python number"
    NUMPY = "a NumPy scalar"
    ARRAY = "an array of at least one dimension"
    OBJECT = "any other value, which may only be passed on"


PYTHON_TYPES: dict[np.dtype[Any], type[Any]] = {
    np.dtype(np.bool_): bool,
    np.dtype(np.int64): int,
    np.dtype(np.float64): float,
}
"""The dtypes of columns whose elements are Python numbers."""
PYTHON_DTYPES = {cls: dtype for dtype, cls in PYTHON_TYPES.items()}


@dataclass(frozen=True, slots=True)
class ValueForm:
    """The form of a value in one element; in a column, the shape is (k, *shape)."""

    kind: Kind
    dtype: np.dtype[Any]
    shape: tuple[int, ...] = ()

    @property
    def nbytes(self) -> int:
        """The bytes of one element in a column."""
        return math.prod(self.shape) * self.dtype.itemsize


OBJECT = ValueForm(Kind.OBJECT, np.dtype(object))


def is_plain(dtype: np.dtype[Any]) -> bool:
    """Return True if tracing supports the dtype: truth values, integers and floats up to 64 bits, native byte order."""
    return dtype.kind in "biuf" and dtype.isnative and dtype.itemsize <= 8


@lru_cache(maxsize=32)
def limits(dtype: np.dtype[Any]) -> tuple[int, int]:
    """Return the minimum and maximum integer of a dtype."""
    info = np.iinfo(dtype)
    return int(info.min), int(info.max)


def is_python_number(value: object) -> TypeGuard[bool | int | float]:
    """Return True for a Python number of an exact type, not of a subclass."""
    return type(value) is int or type(value) is float or type(value) is bool


def form_of_leaf(leaf: Any) -> ValueForm:
    """Return the form of a leaf of this spec, as seen by a function."""
    if not isinstance(leaf, ArraySpec) or not leaf.known or not is_plain(leaf.dtype):
        return OBJECT
    if leaf.shape:
        return ValueForm(Kind.ARRAY, leaf.dtype, tuple(int(size or 0) for size in leaf.shape))
    return ValueForm(Kind.PYTHON if leaf.dtype in PYTHON_TYPES else Kind.NUMPY, leaf.dtype)


def form_of_value(value: Any) -> ValueForm | None:
    """Return the form of a NumPy array or scalar, or `None` if unsupported; 0-dimensional arrays count."""
    if isinstance(value, np.generic):
        return ValueForm(Kind.NUMPY, value.dtype) if is_plain(value.dtype) else None
    if type(value) is np.ndarray and value.ndim > 0 and is_plain(value.dtype):
        return ValueForm(Kind.ARRAY, value.dtype, value.shape)
    return None

"""Estimate the memory that chunks hold, with everything that their elements refer to."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Collection, Sequence
from collections.abc import Set as AbstractSet
from itertools import islice
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from penstock.elements.chunks.chunk import Chunk, Column, Columns, Kept
from penstock.elements.leaves.values import nbytes_of
from penstock.elements.ragged import Ragged
from penstock.elements.sparse import Sparse

REPRESENTING = (16, 16, 8, 4, 4)  # of more parts, this many represent all: of a chunk, of a container in it, and so on
INNERMOST = len(REPRESENTING) - 1
MOST_IN_A_RECORD = 64  # the parts of dicts and tuples differ, so all of them are looked at
_PLAIN = frozenset({bool, int, float, complex, str, bytes, bytearray, type(None)})
_LEAVES = (np.ndarray, Ragged, Sparse)
_CONTAINERS = (dict, list, tuple, AbstractSet, deque)
_PIXEL = {"1": 1, "L": 1, "P": 1, "I;16": 2, "LA": 4, "La": 4}  # bytes of a pixel of Pillow; 4 in all other modes


def memory_of(chunk: Chunk) -> int:
    """Return the bytes of memory that the elements of a chunk take, without memory that other objects keep.

    Other objects keep `Kept` elements, mapped files, and arrays of which an element is a read-only part.

    >>> from penstock.elements.chunks.chunk import Items
    >>> memory_of(Items([{"x": np.zeros(1000)}, {"x": np.zeros(2000)}])) // 1000
    24
    """
    if isinstance(chunk, Columns):
        return sum(map(_memory_of_column, chunk.columns)) if len(chunk) else 0
    values = chunk.values
    return 0 if isinstance(chunk, Kept) or not values else _of_some(values, 0)


def memory_of_value(value: Any, depth: int = 0) -> int:
    """Return the bytes of memory that one value takes: exact for arrays and text, estimated for other objects.

    Of long containers some parts represent all. Images of Pillow count by their pixels, and any other object by its
    `nbytes`, or by `sys.getsizeof` and its attributes.

    >>> memory_of_value([np.zeros(1000)] * 3) >= 24_000
    True
    """
    kind = type(value)
    if kind is np.ndarray:
        return own_bytes_of(value)
    if kind in _PLAIN:
        return sys.getsizeof(value)
    if isinstance(value, _LEAVES):
        return _memory_of_column(value)
    if depth == INNERMOST:
        return sys.getsizeof(value, 64)
    if isinstance(value, _CONTAINERS):
        parts: Any = value.values() if isinstance(value, dict) else value  # pyright: ignore[reportUnknownVariableType]
        is_record = isinstance(value, (dict, tuple)) and len(parts) <= MOST_IN_A_RECORD
        return sys.getsizeof(value) + (_of_all if is_record else _of_some)(parts, depth + 1)
    return _memory_of_object(value, depth)


def own_bytes_of(array: NDArray[Any]) -> int:
    """Return the bytes of an array; 0 if another object keeps them: for a read-only part, or a mapped file.

    >>> whole = np.zeros(4)
    >>> part = whole[:2]
    >>> part.flags.writeable = False
    >>> own_bytes_of(whole), own_bytes_of(part)
    (32, 0)
    """
    nbytes = array.nbytes
    if array.dtype.hasobject:
        return nbytes + _of_some(array.reshape(-1), 0)
    if array.flags.writeable:
        return nbytes
    root: Any = array.base
    if root is None or isinstance(root, bytes):
        return nbytes
    if isinstance(array, np.memmap) or isinstance(root, np.memmap) or not isinstance(root, np.ndarray):
        return 0
    return nbytes if nbytes >= cast("NDArray[Any]", root).nbytes else 0


def _memory_of_column(column: Column) -> int:
    if isinstance(column, np.ndarray):
        return own_bytes_of(column)
    if isinstance(column, Ragged):
        return own_bytes_of(column.flat_values) + own_bytes_of(column.row_splits)
    if isinstance(column, Sparse):
        return column.nbytes
    return _of_some(column, 0)


def _memory_of_object(value: Any, depth: int) -> int:
    nbytes = nbytes_of(value)  # of tensors, among others
    if nbytes is not None:
        return nbytes
    if "PIL.Image" in sys.modules and isinstance(value, sys.modules["PIL.Image"].Image):
        return value.width * value.height * _PIXEL.get(value.mode, 4)
    own = vars(value) if hasattr(value, "__dict__") and not isinstance(value, type) else {}
    return sys.getsizeof(value, 64) + _of_all(own.values(), max(depth + 1, INNERMOST - 1))


def _of_all(values: Collection[Any], depth: int) -> int:
    if _PLAIN.issuperset(map(type, values)):
        return sum(map(sys.getsizeof, values))
    return sum([memory_of_value(value, depth) for value in values])


def _of_some(values: Any, depth: int) -> int:
    """Return the bytes of all values, or a multiple of those of some of them, evenly spaced."""
    count, most = len(values), REPRESENTING[depth]
    if count <= most:
        return _of_all(values, depth)
    if isinstance(values, list | tuple | np.ndarray):
        some = cast("Sequence[Any]", values)[:: count // most | 1]  # odd, as small and large ones may take turns
    else:
        some = list(islice(values, most))
    return _of_all(some, depth) * count // len(some)

"""Estimate the memory that elements take."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.elements.chunks.chunk import Chunk, Column, Columns, Items
from penstock.elements.leaves.values import nbytes_of
from penstock.elements.nested.structure import are_leaves, flatten
from penstock.elements.ragged import Ragged
from penstock.elements.sparse import Sparse


def bytes_of(element: Any) -> int:
    """Return the bytes of an element's leaves: arrays by their contents, other objects without what they refer to.

    >>> import numpy as np
    >>> bytes_of({"x": np.zeros(3), "y": np.zeros(2, np.uint8)})
    26
    """
    if type(element) is np.ndarray:
        return element.nbytes or sys.getsizeof(element)
    return sum(nbytes_of(leaf) or sys.getsizeof(leaf) for leaf in flatten(element)[0]) or 1


def text_bytes_of(array: NDArray[Any]) -> int:
    """Return the approximate bytes of a text in an array of objects, `str` or `bytes`: the mean of a few of them.

    >>> text_bytes_of(np.array([b"", b"12", 7], object)) == (2 * sys.getsizeof(b"") + 2) // 3
    True
    """
    some = array.reshape(-1)[:: max(array.size // _LOOKED_AT, 1)].tolist()
    return sum(sys.getsizeof(value) for value in some if type(value) in (str, bytes)) // max(len(some), 1)


_LOOKED_AT = 8
_NUMBERS: dict[type, int] = {bool: 1, int: 8, float: 8, complex: 16}
_OTHER = 64  # bytes counted for any other object


def sizes_of(chunk: Chunk) -> NDArray[np.int64]:
    """Return the bytes of the leaves of each element: `int64[k]`, at least 1, independent of their form.

    Python numbers count as NumPy numbers, text counts by characters, and other objects by `nbytes`, or 64. Unlike
    `sys.getsizeof`, the result is the same on all platforms.

    >>> from penstock.elements.chunks.chunk import Items
    >>> sizes_of(Items([{"x": np.zeros(3), "y": 1}, {"x": b"", "y": "text"}, ()])).tolist()
    [32, 4, 1]
    """
    if isinstance(chunk, Items) and are_leaves(chunk.types):
        total = np.asarray(_sizes_in(chunk.values))
    elif isinstance(chunk, Columns):
        total = np.zeros(len(chunk), np.int64)
        for column in chunk.columns:
            total += _sizes_in(column)
    else:
        elements = chunk.held()
        total = np.fromiter(map(size_of_element, elements), np.int64, len(elements))
    return np.maximum(total, 1)


def size_of_columns(columns: Sequence[Column]) -> int:
    """Return the bytes of columns, as `sizes_of` counts; if their elements differ, a multiple of the first one's.

    >>> size_of_columns([np.zeros((4, 2)), ["ab", "abc"]])
    68
    """
    nbytes = 0
    for column in columns:
        numbers = column
        if isinstance(column, Ragged | Sparse):
            numbers = column.flat_values if isinstance(column, Ragged) else column.values
        if isinstance(numbers, np.ndarray) and numbers.dtype.kind not in "OSU":
            nbytes += numbers.nbytes
        elif len(numbers):
            nbytes += size_of_element(numbers[0]) * len(numbers)
    return nbytes


def size_of_element(element: Any) -> int:
    """Return the bytes of the leaves of one element, counted as by `sizes_of`; 0 if there are none.

    >>> size_of_element({"x": np.zeros(3), "y": "text"}), size_of_element(())
    (28, 0)
    """
    return sum(map(_size, flatten(element)[0]))


def _sizes_in(column: Column) -> int | NDArray[np.int64]:
    if isinstance(column, np.ndarray) and not column.dtype.hasobject and column.dtype.kind not in "SU":
        return column[:1].nbytes
    return np.fromiter(map(_size, column), np.int64, len(column))


def _size(leaf: Any) -> int:
    known = _NUMBERS.get(type(leaf))
    if known is not None:
        return known
    if isinstance(leaf, bytes | str):
        return len(leaf)
    if isinstance(leaf, Ragged | Sparse):  # without splits and indices, whose dtype and number depend on their form
        leaf = leaf.flat_values if isinstance(leaf, Ragged) else leaf.values
    nbytes = nbytes_of(leaf)
    return _OTHER if nbytes is None else nbytes

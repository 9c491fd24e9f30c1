"""Elements whose leaves are all arrays of one shape and dtype, or numbers of one type: as rows of arrays."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from penstock.core.arrays import Rows
from penstock.core.errors import ElementError
from penstock.elements.chunks.chunk import Chunk, Column, Columns, values_in
from penstock.elements.chunks.sharing import gathered
from penstock.elements.leaves.values import read_only

VIEWED = 1 << 16
"""Rows of this many bytes are views of the array that has them, unless memory for them is given."""
_PYTHONS_OWN: dict[type, np.dtype[Any]] = {cls: np.dtype(cls) for cls in (bool, int, float)}
_NUMERIC = "iufcmM"  # kinds of dtypes whose scalars come back as they were, unless they come back as Python's own


class UniformRow(NamedTuple):
    """The dtype and shape of the rows of an array."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]

    @property
    def nbytes(self) -> int:
        """The bytes of a row."""
        return self.dtype.itemsize * int(np.prod(self.shape, dtype=np.int64))


def in_columns(chunk: Chunk) -> Columns | None:
    """Return the elements as columns; `None` if they have several structures."""
    try:
        return chunk.to_columns()
    except ElementError:
        return None


def forms_of_rows(chunk: Columns) -> list[UniformRow] | None:
    """Return the form of each leaf, if arrays of these forms have the same elements, in values and types.

    >>> from penstock.elements.nested.structure import LEAF
    >>> forms_of_rows(Columns(LEAF, [[np.zeros(2), np.ones(2)]], 2))
    [UniformRow(dtype=dtype('float64'), shape=(2,))]
    >>> forms_of_rows(Columns(LEAF, [[np.zeros(2), np.ones(3)]], 2)), forms_of_rows(Columns(LEAF, [["a", "b"]], 2))
    (None, None)
    """
    forms: list[UniformRow] = []
    for column in chunk.columns:
        form = _form_of_rows(column)
        if form is None:
            return None
        forms.append(form)
    return forms


def _form_of_rows(column: Column) -> UniformRow | None:
    if isinstance(column, np.ndarray):
        return None if column.dtype.hasobject else UniformRow(column.dtype, column.shape[1:])
    if not isinstance(column, list) or len(types := set(map(type, column))) != 1:
        return None
    (cls,) = types
    if cls is np.ndarray:
        forms = {UniformRow(value.dtype, value.shape) for value in column}
        form = forms.pop()
        return None if forms or not form.shape or form.dtype.hasobject else form
    if cls in _PYTHONS_OWN:
        is_small = cls is not int or -(1 << 63) <= min(column) <= max(column) < 1 << 63
        return UniformRow(_PYTHONS_OWN[cls], ()) if is_small else None
    if not issubclass(cls, np.generic) or len(dtypes := {value.dtype for value in column}) != 1:
        return None
    (dtype,) = dtypes
    return UniformRow(dtype, ()) if dtype.kind in _NUMERIC and dtype not in _PYTHONS_OWN.values() else None


def fill_rows(rows: np.ndarray, column: Column) -> None:
    """Copy the values of a column to rows of their form."""
    if isinstance(column, np.ndarray) or rows.ndim == 1:
        rows[...] = column
    else:
        for row, value in zip(rows, values_in(column), strict=True):
            row[...] = value


def rows_of(array: np.ndarray, rows: Rows, out: np.ndarray | None = None) -> Column:
    """Return rows of an array that another object keeps: in `out` if they fit there, else read-only.

    Without memory for them, large rows are views.

    >>> large = np.zeros((3, VIEWED), np.uint8)
    >>> [np.shares_memory(row, large) for row in rows_of(large, np.array([2, 0]))]
    [True, True]
    """
    if out is None and array.ndim > 1 and array.strides[0] >= VIEWED:
        kept = read_only(array)
        return [kept[row] for row in rows.tolist()]
    return gathered(array, rows, out)

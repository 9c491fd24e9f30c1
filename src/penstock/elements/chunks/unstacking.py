"""Split batches into elements: the inverse of stacking."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.core.errors import ElementError
from penstock.elements.chunks.chunk import Chunk, Column, Columns, concat
from penstock.elements.leaves.masked import refuse_masked
from penstock.elements.nested.structure import flatten, paths
from penstock.elements.ragged import Ragged
from penstock.elements.sparse import Sparse
from penstock.elements.spec import is_array_like


def unstacked(chunk: Chunk) -> tuple[Chunk, NDArray[np.int64]]:
    """Return the elements of all batches of `chunk`, one batch after another, and the size of each batch, `int64[k]`.

    Every leaf is sliced along its first dimension, as a view if it is an array. A leaf without a first dimension, or
    leaves of one batch that differ in it, raise an `ElementError`, whose attribute `element` is the batch.

    >>> from penstock.elements.nested.structure import LEAF
    >>> elements, counts = unstacked(Columns(LEAF, [np.arange(6).reshape(2, 3)], 2))
    >>> elements.elements(), counts.tolist()
    ([0, 1, 2, 3, 4, 5], [3, 3])
    """
    if isinstance(chunk, Columns) and (size := _uniform_size(chunk)) is not None:
        columns = [_flat(column) for column in chunk.columns]
        return Columns(chunk.structure, columns, len(chunk) * size), np.full(len(chunk), size)
    parts = [_taken_apart(batch, index) for index, batch in enumerate(chunk.held())]
    if not parts:
        return chunk, np.zeros(0, np.int64)
    return concat(parts), np.array(list(map(len, parts)), np.int64)


def _uniform_size(chunk: Columns) -> int | None:
    """Return the size of each batch if all leaves are arrays of that many rows; otherwise `None`."""
    arrays = [column for column in chunk.columns if isinstance(column, np.ndarray) and column.ndim > 1]
    sizes = {array.shape[1] for array in arrays}
    return sizes.pop() if len(sizes) == 1 and len(arrays) == len(chunk.columns) else None


def _flat(column: Any) -> Column:
    """Return batches of shape (k, n, ...) end to end: (k * n, ...)."""
    return _listed(column.reshape(column.shape[0] * column.shape[1], *column.shape[2:]))


def _listed(column: NDArray[Any]) -> Column:
    """Return the column; as a list if its elements are text or other objects."""
    return column.tolist() if column.ndim == 1 and column.dtype.kind in "OUS" else column


def check_lengths(operation: str, columns: Sequence[Column], paths: Sequence[str]) -> None:
    """Raise an `ElementError` that names the first column whose length differs from that of column 0, if any.

    >>> check_lengths("unbatch", [[1, 2], [3]], ['["x"]', '["y"]'])
    Traceback (most recent call last):
        ...
    penstock.core.errors.ElementError: unbatch: ["y"] has 1 row and ["x"] has 2; every leaf needs the same length \
    along its first dimension
    """
    for column, path in zip(columns, paths, strict=True):
        if len(column) != len(columns[0]):
            rows = "row" if len(column) == 1 else "rows"
            raise ElementError(
                f"{operation}: {path} has {len(column)} {rows} and {paths[0]} has {len(columns[0])}; "
                "every leaf needs the same length along its first dimension"
            )


def _taken_apart(batch: Any, index: int) -> Columns:
    leaves, structure = flatten(batch)
    names = paths(structure)
    try:
        if not leaves:
            raise ElementError(f"unbatch: {structure!r} has no leaf, so the number of elements is unknown")
        columns = [_rows(leaf, path) for leaf, path in zip(leaves, names, strict=True)]
        check_lengths("unbatch", columns, names)
    except ElementError as error:
        error.__dict__["element"] = index
        raise
    return Columns(structure, columns, len(columns[0]))


def _rows(leaf: Any, path: str) -> Column:
    if isinstance(leaf, Ragged | Sparse):
        return leaf
    at = f" at {path}" if path else ""
    if isinstance(leaf, np.ndarray) or is_array_like(leaf):
        refuse_masked(leaf, f"unbatch: the masked array{at}")
        array: NDArray[Any] = np.asarray(leaf)
        if array.ndim > 0:
            return _listed(array)
    raise ElementError(
        f"unbatch: {leaf!r:.60}{at} is of type {type(leaf).__name__}, which has no first dimension; "
        "every leaf of a batch needs one"
    )

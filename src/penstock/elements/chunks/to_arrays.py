"""Turn all columns of a chunk into arrays, in the given memory where they fit."""

from __future__ import annotations

from operator import is_not

import numpy as np

from penstock.core.arrays import Allocate
from penstock.elements.chunks.chunk import Chunk, Items
from penstock.elements.chunks.overlapping import do_overlap
from penstock.elements.chunks.stacking import Stack, numbers, stack
from penstock.elements.nested.structure import LEAF, Structure, paths
from penstock.elements.ragged import Ragged


def stack_all(
    chunk: Chunk,
    rows: np.ndarray,
    *,
    out: list[np.ndarray] | None,
    allocate: Allocate,
    keep_ragged: bool = False,
    to_largest: bool = False,
) -> tuple[Structure, list[Stack]]:
    """Return the chunk's structure, and for each leaf one array of shape (k, ...), or `Ragged` or `Sparse` rows.

    An array that a program has already written into `out` stays there; a leaf that does not match the shape or dtype of
    its memory gets new memory. Arrays that are rows of a `Ragged` must agree in shape, unless `keep_ragged`, and
    `Sparse` values must agree in shape, unless `to_largest`. No two of the arrays share memory.
    """
    if isinstance(chunk, Items) and (out is None or len(out) == 1):
        found = numbers(chunk.values, None if out is None else out[0], allocate)
        if found is not None:
            return LEAF, [found]
    columns = chunk.to_columns(rows=rows)
    given = out if out is not None and len(out) == len(columns.columns) else [None] * len(columns.columns)
    types = chunk.types if isinstance(chunk, Items) and columns.structure == LEAF else None
    arrays: list[Stack] = []
    for column, memory, path in zip(columns.columns, given, paths(columns.structure), strict=True):
        if memory is not None and column is memory:
            array: Stack = memory
        elif keep_ragged and isinstance(column, Ragged) and column.ragged_rank == 1:
            array = column
        else:
            array = stack(column, memory, path=path, rows=rows, allocate=allocate, types=types, to_largest=to_largest)
        arrays.append(owned(array, allocate))
    kept = [array for array, column in zip(arrays, columns.columns, strict=True) if type(column) is not list]
    if any(map(is_not, arrays, given)) and do_overlap(kept):  # values of a list were copied
        arrays = [
            array if array is memory or not isinstance(array, np.ndarray) else _copied(array, allocate)
            for array, memory in zip(arrays, given, strict=True)
        ]
    return columns.structure, arrays


def owned(array: Stack, allocate: Allocate) -> Stack:
    """Return the array, or a copy if it is read-only: a batch belongs to the consumer, so it is not a view of a source.

    >>> owned(np.broadcast_to(np.int64(3), 2), np.empty).flags.writeable
    True
    """
    if not isinstance(array, np.ndarray):
        return array.owned(allocate)
    return array if array.flags.writeable else _copied(array, allocate)


def _copied(array: np.ndarray, allocate: Allocate) -> np.ndarray:
    memory = allocate(array.shape, array.dtype)
    np.copyto(memory, array)
    return memory

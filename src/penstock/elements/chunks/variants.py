"""Copies of elements with separate arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.elements.chunks.chunk import Chunk, Columns, Items
from penstock.elements.chunks.sharing import own_array, with_own_arrays, with_writeable_arrays, writeable_array


def variants(chunk: Chunk, which: NDArray[np.int64]) -> Chunk:
    """Return the elements at `which`, positions that may repeat; `which` has shape `(k,)`.

    Repeated elements get copies of the writeable arrays, so that a function that modifies one variant affects no other.
    Other objects and read-only arrays are shared.

    >>> import numpy as np
    >>> first, again = variants(Items([{"x": np.zeros(2)}]), np.array([0, 0])).elements()
    >>> first["x"] += 1
    >>> again["x"].tolist()
    [0.0, 0.0]
    """
    made = chunk.select(which)
    if isinstance(made, Items):
        return Items(_own(made.held(), which))
    columns = [_own(column, which) if isinstance(column, list) else column for column in made.columns]
    return Columns(made.structure, columns, len(which))


def duplicate(chunk: Chunk) -> Chunk:
    """Return the elements with copies of the writeable arrays, so that an operation can be applied to them twice.

    >>> import numpy as np
    >>> kept = Items([np.zeros(2)])
    >>> duplicate(kept).element(0)[:] = 1
    >>> kept.element(0).tolist()
    [0.0, 0.0]
    """
    if isinstance(chunk, Items):
        return Items(with_own_arrays(chunk.held()))
    columns = [with_own_arrays(column) if isinstance(column, list) else own_array(column) for column in chunk.columns]
    return Columns(chunk.structure, columns, len(chunk))


def writeable(chunk: Chunk) -> Chunk:
    """Return the elements with copies of the read-only arrays, for a function that does not respect the flag.

    >>> import numpy as np
    >>> kept = np.broadcast_to(0, (1, 2))
    >>> writeable(Items([kept])).element(0).flags.writeable
    True
    """
    if isinstance(chunk, Items):
        return Items(with_writeable_arrays(chunk.held()))
    columns = [
        with_writeable_arrays(column) if isinstance(column, list) else writeable_array(column)
        for column in chunk.columns
    ]
    return Columns(chunk.structure, columns, len(chunk))


def _own(values: list[Any], which: NDArray[np.int64]) -> list[Any]:
    """Return the values at these positions, with copies for repeated ones."""
    seen = np.ones(len(which), np.bool_)
    seen[np.unique(which, return_index=True)[1]] = False
    again = np.flatnonzero(seen).tolist()
    for i, copied in zip(again, with_own_arrays([values[i] for i in again]), strict=True):
        values[i] = copied
    return values

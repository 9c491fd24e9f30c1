"""Elements several times over, each with arrays of its own."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.elements.chunks.chunk import Chunk, Columns, Items
from penstock.elements.chunks.sharing import own_array, with_own_arrays


def variants(chunk: Chunk, which: NDArray[np.int64]) -> Chunk:
    """Return the elements at `which`, positions that may come several times; `which` has shape `(k,)`.

    Repeated elements have copies of the arrays that can be written to, so that a function that writes into one variant
    changes no other. Other objects and read-only arrays are shared.

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
    """Return the elements with copies of the arrays that can be written to, so that they may be made into others twice.

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


def _own(values: list[Any], which: NDArray[np.int64]) -> list[Any]:
    """The values, where those that came before become copies."""
    seen = np.ones(len(which), np.bool_)
    seen[np.unique(which, return_index=True)[1]] = False
    again = np.flatnonzero(seen).tolist()
    for i, copied in zip(again, with_own_arrays([values[i] for i in again]), strict=True):
        values[i] = copied
    return values

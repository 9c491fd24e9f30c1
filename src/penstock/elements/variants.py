"""Elements several times over, each with arrays of its own."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.elements.chunk import Chunk, Columns, Items
from penstock.elements.ragged import Ragged
from penstock.elements.sparse import Sparse
from penstock.elements.structure import flatten, unflatten


def variants(chunk: Chunk, which: NDArray[np.int64]) -> Chunk:
    """Return the elements at `which`, positions that may come several times; `which` has shape `(k,)`.

    What comes again has copies of the arrays, so that a function that writes into one variant changes no other.
    Objects other than arrays are shared.

    >>> import numpy as np
    >>> first, again = variants(Items([{"x": np.zeros(2)}]), np.array([0, 0])).elements()
    >>> first["x"] += 1
    >>> again["x"].tolist()
    [0.0, 0.0]
    """
    made = chunk.select(which)
    if isinstance(made, Items):
        return Items(_own(made.values, which))
    columns = [_own(column, which) if isinstance(column, list) else column for column in made.columns]
    return Columns(made.structure, columns, len(which))


def _own(values: list[Any], which: NDArray[np.int64]) -> list[Any]:
    """The values, where those that came before become copies."""
    seen = np.ones(len(which), np.bool_)
    seen[np.unique(which, return_index=True)[1]] = False
    for i in np.flatnonzero(seen).tolist():
        values[i] = _copied(values[i])
    return values


def _copied(value: Any) -> Any:
    leaves, structure = flatten(value)
    return unflatten(structure, [_own_leaf(leaf) for leaf in leaves])


def _own_leaf(leaf: Any) -> Any:
    if isinstance(leaf, np.ndarray):
        return leaf.copy()
    return leaf.frozen().owned() if isinstance(leaf, Ragged | Sparse) else leaf

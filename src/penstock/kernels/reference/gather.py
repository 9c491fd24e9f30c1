"""Gather in NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.core.arrays import Rows


def gather(source: NDArray[Any], rows: Rows, out: NDArray[Any] | None = None) -> NDArray[Any]:
    """Return `source[rows]`, written to `out` if given; raise an `IndexError` for a row outside `[0, n)`."""
    if ((rows < 0) | (rows >= len(source))).any():
        raise IndexError("a row is outside the source")
    return np.take(source, rows, axis=0, out=out, mode="clip" if out is not None else "raise")


def gather_several(
    sources: Sequence[NDArray[Any]], owners: Rows, rows: Rows, places: Rows, out: NDArray[Any]
) -> NDArray[Any]:
    """Write row `rows[i]` of source `owners[i]` to `out[places[i]]`, and return `out`."""
    for owner, row, place in zip(owners.tolist(), rows.tolist(), places.tolist(), strict=True):
        if not (0 <= owner < len(sources) and 0 <= row < len(sources[owner]) and 0 <= place < len(out)):
            raise IndexError("a source, a row or a place is outside its range")
        out[place] = sources[owner][row]
    return out

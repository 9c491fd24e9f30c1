"""Types and numbers that all of a plan is told in: lengths, specs, and the functions that make rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np

from penstock.core.arrays import Rows

if TYPE_CHECKING:
    from penstock.elements.chunks.chunk import Chunk
    from penstock.kernels import Ahead, Pool, SideThread

Spec: TypeAlias = Any  # nested structure of ArraySpec and ObjectSpec

INFINITE = -1
"""The length of a dataset that never ends."""
UNKNOWN = -2
"""The length of a dataset that only iterating can tell."""
INFINITE_STRIDE = 1 << 48
"""Rows counted to one epoch of an infinite dataset."""
ENDLESS_EPOCHS = 1 << 14
"""Epochs of an infinite dataset that its finite parts use at most before they begin again with the first."""


class Program(Protocol):
    """Make the elements of some global rows: a pure function."""

    def __call__(self, rows: Rows, out: list[np.ndarray] | None = None, /) -> Chunk: ...


Single: TypeAlias = Callable[[int], Any]
"""Make the element of one global row: the very one that the program makes of it."""


class Begin(Protocol):
    """Begin to make batches of the elements of some global rows, in a native thread; `None` where that cannot be.

    `batch` elements make one, which is what `join` makes of their arrays, one a leaf.
    """

    def __call__(
        self, rows: Rows, batch: int, join: Callable[[list[np.ndarray]], Any], pool: Pool, side: SideThread, /
    ) -> Ahead | None: ...

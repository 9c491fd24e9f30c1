"""Types and numbers used throughout a plan: lengths, specs, and the functions that make rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np

from penstock.core.arrays import Rows
from penstock.core.lengths import INFINITE, UNKNOWN
from penstock.elements.spec import Spec

if TYPE_CHECKING:
    from penstock.elements.chunks.chunk import Chunk

__all__ = ["ENDLESS_EPOCHS", "INFINITE", "INFINITE_STRIDE", "UNKNOWN", "Mark", "Program", "Spec"]

Mark: TypeAlias = Any
"""JSON data from which a stream goes on; `plan.flow` has the rules."""

INFINITE_STRIDE = 1 << 48
"""The number of rows counted to one epoch of an infinite dataset."""
ENDLESS_EPOCHS = 1 << 14
"""The number of epochs of an infinite dataset that its finite parts use before restarting at the first."""


class Program(Protocol):
    """Make the elements of some global rows: a pure function."""

    def __call__(self, rows: Rows, out: list[np.ndarray] | None = None, /) -> Chunk: ...

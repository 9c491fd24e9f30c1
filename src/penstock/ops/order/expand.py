"""Repeat every element."""

from __future__ import annotations

import numpy as np

from penstock.core.arrays import Allocate, Rows
from penstock.core.cached import cached_property
from penstock.core.frozen import frozen
from penstock.elements.chunks.chunk import Chunk
from penstock.elements.chunks.variants import variants
from penstock.index.expanded import expanded
from penstock.plan.flow import Piece, Spread
from penstock.plan.ids import child_ids
from penstock.plan.node import Node
from penstock.plan.types import Program, Spec


@frozen()
class Expand(Node):
    """Yield every element `count` times in a row, so that random functions can make variants of it.

    The variants made by one task share one element, which is read once.
    """

    elementwise = True

    input: Node
    count: int

    @cached_property
    def length(self) -> int:
        return self.input.length if self.input.length < 0 else self.input.length * self.count

    def spec(self) -> Spec | None:
        return self.input.spec()

    def rows_of(self, rows: Rows) -> Rows:
        """Return the row of the input that each row is a variant of."""
        return expanded(rows, count=self.count, stride=self.stride, input_stride=self.input.stride)

    def route(self, rows: Rows) -> tuple[Rows, ...]:
        return (self.rows_of(rows),)

    def program(self, inputs: tuple[Program, ...], allocate: Allocate) -> Program:
        (source,) = inputs

        def run(rows: Rows, out: list[np.ndarray] | None = None) -> Chunk:
            its_rows = self.rows_of(rows)
            made, which = np.unique(its_rows, return_inverse=True)
            if len(made) == len(rows):
                return source(its_rows, out)
            return variants(source(made), which)

        return run

    def spread(self, allocate: Allocate) -> Spread:
        def run(piece: Piece) -> Piece:
            if len(piece) == 0:
                return piece
            which = np.repeat(np.arange(len(piece)), self.count)
            ids = child_ids(piece.ids, np.full(len(piece), self.count))
            return Piece(variants(piece.chunk, which), ids, piece.after)

        return run

    def arguments(self) -> str:
        return str(self.count)

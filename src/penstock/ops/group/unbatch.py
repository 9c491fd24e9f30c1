"""Split batches into their elements."""

from __future__ import annotations

import numpy as np

from penstock.core.arrays import Allocate, Rows
from penstock.core.cached import cached_property
from penstock.core.errors import ElementError
from penstock.core.frozen import frozen
from penstock.elements.chunks.chunk import Chunk
from penstock.elements.chunks.unstacking import unstacked
from penstock.elements.nested.structure import flatten
from penstock.elements.spec import ArraySpec, sliced
from penstock.index.grouped import group_of
from penstock.ops.buffer.options import WithOptions
from penstock.ops.buffer.prefetch import Prefetch
from penstock.ops.group.batch import Batch
from penstock.plan.blame import blame
from penstock.plan.flow import Piece, Spread
from penstock.plan.ids import child_ids
from penstock.plan.node import Node
from penstock.plan.types import INFINITE, UNKNOWN, Program, Spec


@frozen()
class Unbatch(Node):
    """Yield the elements of each batch one after another.

    Random access requires that the plan knows the number of elements in every batch.
    """

    elementwise = True

    input: Node

    @cached_property
    def indexed(self) -> bool:
        return self.input.indexed and self.size is not None

    @cached_property
    def size(self) -> int | None:
        """The number of elements of every batch except the last of an epoch; `None` if the plan does not know."""
        if self._batch is not None:
            return self._batch.size
        spec = self.input.spec()
        if spec is None:
            return None
        first = {leaf.shape[0] for leaf in flatten(spec)[0] if isinstance(leaf, ArraySpec) and leaf.shape}
        return first.pop() if len(first) == 1 else None

    @cached_property
    def _batch(self) -> Batch | None:
        """The node that made the batches, if nothing has changed them since."""
        node = self.input
        while isinstance(node, Prefetch | WithOptions):
            node = node.input
        return node if isinstance(node, Batch) else None

    @cached_property
    def length(self) -> int:
        batches, size = self.input.length, self.size
        if batches == 0 or size == 0:
            return 0
        if batches == INFINITE:
            return INFINITE
        if batches == UNKNOWN or size is None:
            return UNKNOWN
        short = self._batch is not None and self._batch.static_size is None
        return self._batch.input.length if self._batch is not None and short else batches * size

    def spec(self) -> Spec | None:
        spec = self.input.spec()
        return None if spec is None else sliced(spec)

    def located(self, rows: Rows) -> tuple[Rows, Rows]:
        """Return the batch's row of each row, and the position in the batch."""
        return group_of(rows, size=self.size or 1, batches=self.input.stride, input_stride=self.stride)

    def route(self, rows: Rows) -> tuple[Rows, ...]:
        """Return each batch once: a batch repeated for each of its rows would be made that many times below."""
        return (np.unique(self.located(rows)[0]),)

    def program(self, inputs: tuple[Program, ...], allocate: Allocate) -> Program:
        (source,) = inputs

        def run(rows: Rows, out: list[np.ndarray] | None = None) -> Chunk:
            batches, places = self.located(rows)
            made, which = np.unique(batches, return_inverse=True)
            elements, counts = self._unstacked(source(made), made)
            self._check(counts, made)
            at = (np.cumsum(counts) - counts)[
                which
            ] + places  # position of each element among the elements of all batches
            first = int(at[0]) if len(at) else 0
            if np.array_equal(at, np.arange(first, first + len(at))):
                return elements.slice(first, first + len(at))
            return elements.select(at)

        return run

    def _check(self, counts: np.ndarray, made: Rows) -> None:
        """Raise an error for batches of another size than the plan states."""
        size, last = self.size or 0, self.input.stride - 1
        wanted = np.full(len(made), size)
        if self.length != INFINITE:
            wanted[made % self.input.stride == last] = self.length - last * size
        wrong = np.flatnonzero(counts != wanted)
        if len(wrong):
            at = int(wrong[0])
            error = ElementError(
                f"unbatch: a batch has {counts[at]} elements, but its spec has {wanted[at]}; correct the function that "
                "made the batch, or the shape that it declares"
            )
            blame(error, self.input, int(made[at]))
            raise error

    def spread(self, allocate: Allocate) -> Spread:
        def run(piece: Piece) -> Piece:
            if len(piece) == 0:
                return piece
            elements, counts = self._unstacked(piece.chunk, piece.ids)
            return Piece(elements, child_ids(piece.ids, counts), piece.after)

        return run

    def _unstacked(self, chunk: Chunk, rows: Rows) -> tuple[Chunk, np.ndarray]:
        try:
            return unstacked(chunk)
        except Exception as error:
            blame(error, self.input, int(rows[getattr(error, "element", None) or 0]))
            raise

"""Pad a dataset with elements of zeros."""

from __future__ import annotations

import numpy as np

from penstock.core.arrays import Allocate, Rows
from penstock.core.cached import cached_property
from penstock.core.errors import DataError, ElementError
from penstock.core.frozen import frozen
from penstock.elements.chunks.chunk import Chunk, Items
from penstock.elements.chunks.padding import flagged, flagged_spec, without_flags, zero_of, zeroed
from penstock.elements.chunks.variants import variants
from penstock.index.padded import padded
from penstock.plan.blame import blame
from penstock.plan.flow import MOST_READ as MOST
from penstock.plan.flow import Flow, Mark, Open, Piece, Reader, resumed
from penstock.plan.ids import ordinals
from penstock.plan.node import Node
from penstock.plan.types import Program, Spec


@frozen()
class PadToCardinality(Node):
    """Append elements of zeros up to `count` elements; a mask is true for the real elements.

    A dict element holds the mask under `mask_key`; any other element becomes the pair (element, mask).
    """

    kind = "Pad"

    input: Node
    count: int
    mask_key: str

    @property
    def name(self) -> str:
        return "pad_to_cardinality"

    @cached_property
    def length(self) -> int:
        return self.count

    def spec(self) -> Spec | None:
        return flagged_spec(self.input.spec(), self.mask_key)

    def padded(self, rows: Rows) -> tuple[Rows, np.ndarray]:
        """Return the input's row for each row, and a mask of the real rows."""
        stride = self.input.stride
        return padded(rows, length=stride, stride=self.stride, input_stride=stride)

    def route(self, rows: Rows) -> tuple[Rows, ...]:
        its_rows, real = self.padded(rows)
        return (its_rows[real],)

    def program(self, inputs: tuple[Program, ...], allocate: Allocate) -> Program:
        (source,) = inputs

        def run(rows: Rows, out: list[np.ndarray] | None = None) -> Chunk:
            if self.input.length == 0:
                return self._all_zeros(len(rows))
            its_rows, real = self.padded(rows)
            if real.all():
                below = without_flags(out, self.input.spec(), self.mask_key)
                return self._flagged(source(its_rows, below), real, rows)
            made, which = np.unique(its_rows, return_inverse=True)
            return self._flagged(source(made).select(which), real, rows)

        return run

    def _flagged(self, chunk: Chunk, real: np.ndarray, rows: Rows) -> Chunk:
        """Return the elements with their flags, and with zeros where they are not real."""
        try:
            return flagged(zeroed(chunk, ~real), real, self.mask_key)
        except Exception as error:
            blame(error, self, int(rows[0]))
            raise

    def _all_zeros(self, count: int) -> Chunk:
        zeros = zero_of(self.input.spec())
        if zeros is None:
            raise ElementError(
                f"{self.label()}: there is no element, and the plan does not know the spec of one, so the padding is "
                "unknown"
            )
        return flagged(variants(Items([zeros]), np.zeros(count, np.int64)), np.zeros(count, np.bool_), self.mask_key)

    def flow(self, inputs: tuple[Open, ...], epoch: int, mark: Mark, allocate: Allocate) -> Flow:
        seen, at = resumed(mark, (0, None))
        with Reader(inputs[0], epoch, at) as reader:
            while (piece := reader.read(MOST)) is not None:
                seen += len(piece)
                if seen > self.count:
                    raise DataError(f"{self.label()}: there are more than {self.count} elements already")
                after = reader.mark
                missing = self.count - seen if reader.ready() == 0 else 0
                seen += missing
                yield self._padded(piece, missing, [seen, after])
        if seen == 0 and self.count:
            yield Piece(self._all_zeros(self.count), ordinals(epoch, 0, self.count), [self.count, None])

    def _padded(self, piece: Piece, missing: int, after: Mark) -> Piece:
        """Return the piece with flags and with elements of zeros shaped like its last element."""
        real = np.arange(len(piece) + missing) < len(piece)
        which = np.minimum(np.arange(len(piece) + missing), len(piece) - 1)
        return Piece(self._flagged(piece.chunk.select(which), real, piece.ids), piece.ids[which], after)

    def arguments(self) -> str:
        mask = [] if self.mask_key == "valid" else [f"mask_key={self.mask_key!r}"]
        return ", ".join([str(self.count), *mask])

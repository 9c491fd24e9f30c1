"""Number the elements."""

from __future__ import annotations

from typing import cast

import numpy as np

from penstock.core.arrays import Allocate, Rows
from penstock.core.cached import cached_property
from penstock.core.frozen import frozen
from penstock.elements.chunks.chunk import Chunk
from penstock.elements.nested.nesting import leaf_column, nested
from penstock.elements.nested.structure import flatten
from penstock.elements.spec import ArraySpec
from penstock.index.blocked import Blocks
from penstock.index.epochs import positions
from penstock.plan.flow import MOST_READ, AskedFlow, Mark, Open, Piece, Reader, empty_piece, resumed
from penstock.plan.node import Node
from penstock.plan.step import Out, Step
from penstock.plan.traits import Traits
from penstock.plan.types import Spec

_PAIR = flatten((0, 0))[1]


@frozen()
class Enumerate(Node):
    """Pair each element with its position in the epoch, counted from `start` by `step`."""

    traits = Traits(ids="kept", one_to_one=True)

    input: Node
    start: int
    step: int = 1

    @cached_property
    def length(self) -> int:
        return self.input.length

    def spec(self) -> Spec | None:
        spec = self.input.spec()
        return None if spec is None else (ArraySpec((), np.dtype(np.int64)), spec)

    def route(self, rows: Rows) -> tuple[Rows, ...]:
        return (rows,)

    def blocks(self, inputs: tuple[Blocks | None, ...]) -> Blocks | None:
        return inputs[0]

    def as_step(self, allocate: Allocate) -> Step | None:
        return Step(change=self._numbered)

    def _numbered(self, chunk: Chunk, rows: Rows, below: Rows, out: Out) -> Chunk:
        numbers = positions(rows, self.stride) * self.step + self.start
        return nested(_PAIR, [leaf_column(numbers), chunk])

    def flow(self, inputs: tuple[Open, ...], epoch: int, mark: Mark, allocate: Allocate) -> AskedFlow:
        wanted: int | None = None
        made, at = resumed(mark, (0, None))
        with Reader(inputs[0], epoch, at) as reader:
            while reader.ready(wanted):
                if reader.take_passed_empty():
                    yield empty_piece([made, reader.mark])
                piece = cast("Piece", reader.read(MOST_READ))
                numbers = self.start + self.step * np.arange(made, made + len(piece), dtype=np.int64)
                made += len(piece)
                wanted = yield Piece(nested(_PAIR, [leaf_column(numbers), piece.chunk]), piece.ids, [made, reader.mark])

    def arguments(self) -> str:
        return "" if self.start == 0 else f"start={self.start}"

"""Replace each element by the elements of its result."""

from __future__ import annotations

from typing import cast

import numpy as np

from penstock.core.arrays import Rows
from penstock.core.cached import cached_property
from penstock.core.errors import CursorError
from penstock.core.frozen import frozen
from penstock.elements.chunks.chunk import Chunk, Items
from penstock.ops.combine.inner import OpenWithin, Unfolding
from penstock.ops.combine.unpack import HeldResult, Unpack
from penstock.plan.flow import BEYOND, MOST_READ, AskedFlow, Flow, Mark, Open, Piece, Reader, resumed
from penstock.plan.ids import first_child_id
from penstock.plan.node import Node
from penstock.plan.types import INFINITE, UNKNOWN


@frozen()
class FlatMap(Unfolding):
    """Yield all elements of the first result, then all elements of the second, and so on.

    Tasks put sequences end to end; this node reads datasets and other iterables one by one. The mark holds the mark of
    the next input element and the position within its result.
    """

    @property
    def name(self) -> str:
        calls = self._calls
        return calls.name if calls is not None and calls.internal else "flat_map"

    @cached_property
    def length(self) -> int:
        calls = self._calls
        windows = calls is not None and calls.input.internal
        return INFINITE if windows and self.input.length == INFINITE else UNKNOWN

    def arguments(self) -> str:
        calls = self._calls
        return calls.input.arguments() if calls is not None and calls.input.internal else self.called()

    def in_tasks(self, below: Node) -> Node:
        return Unpack(below)

    def unfold(self, source: Open, epoch: int, mark: Mark, open_within: OpenWithin) -> Flow:
        at, inside = resumed(mark, (None, None))
        with Reader(source, epoch, at) as reader:
            while reader.ready():
                before, start = reader.mark
                piece = cast("Piece", reader.read(1 if inside else MOST_READ))
                held = _held(piece)
                if inside and not held:
                    raise CursorError(BEYOND)
                low = 0
                for place in held:
                    if low < place:
                        yield Piece(*_part(piece, low, place), [[before, start + place], None])
                    holder = Piece(Items([piece.chunk.element(place).result]), piece.ids[place : place + 1])
                    yield from self._one_by_one(holder, [before, start + place], inside, open_within)
                    low, inside = place + 1, None
                if low < len(piece):
                    yield Piece(*_part(piece, low, len(piece)), [reader.mark, None])

    def _one_by_one(self, holder: Piece, here: Mark, inside: Mark, open_within: OpenWithin) -> AskedFlow:
        given, mark = resumed(inside, (0, None))
        begin = first_child_id(int(holder.ids[0]))
        with self.elements_of(holder, mark, open_within) as elements:
            wanted: int | None = None
            while (piece := elements.read(MOST_READ, wanted)) is not None:
                ids = np.arange(begin + given, begin + given + len(piece), dtype=np.int64)
                given += len(piece)
                wanted = yield Piece(piece.chunk, ids, [here, [given, elements.mark]])


def _held(piece: Piece) -> list[int]:
    """Return the positions of the results that are not elements yet."""
    if not isinstance(piece.chunk, Items) or HeldResult not in piece.chunk.types:
        return []
    return [place for place, element in enumerate(piece.chunk.held()) if type(element) is HeldResult]


def _part(piece: Piece, low: int, high: int) -> tuple[Chunk, Rows]:
    return piece.chunk.slice(low, high), piece.ids[low:high]

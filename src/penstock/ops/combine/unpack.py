"""Put sequences of elements end to end, in the tasks that make them."""

from __future__ import annotations

from itertools import chain, groupby
from typing import Any

import numpy as np

from penstock.core.arrays import Allocate, Rows
from penstock.core.frozen import frozen
from penstock.elements.chunks.chunk import Columns, Items
from penstock.elements.nested.nesting import leaf_column
from penstock.ops.combine.inner import chunk_of, is_sequence
from penstock.plan.flow import Piece, Spread, join_pieces
from penstock.plan.ids import child_ids
from penstock.plan.node import Node, Streamed
from penstock.plan.traits import Traits
from penstock.plan.types import Spec

AT_A_TIME = 512
"""Results kept at a time: after 700 new containers Python's garbage collector runs."""


class HeldResult:
    """A result whose elements are still to be made, as a placeholder for them."""

    __slots__ = ("result",)

    def __init__(self, result: Any) -> None:
        self.result = result


@frozen()
class Unpack(Streamed):
    """Yield the elements of the sequences that `input` yields; wrap any other result in one `HeldResult` element."""

    elementwise = True
    traits = Traits(calls_input=True)

    input: Node

    @property
    def internal(self) -> bool:
        return True

    def spec(self) -> Spec | None:
        return None

    def spread(self, allocate: Allocate) -> Spread:
        return self.spread_over(lambda piece: piece)

    def spread_over(self, source: Spread) -> Spread:
        def run(piece: Piece) -> Piece:
            made = _Unpacked()
            for low in range(0, max(len(piece), 1), AT_A_TIME):
                made.add(source(piece.slice(low, low + AT_A_TIME)))
            together = made.together()
            return Piece(together.chunk, together.ids, piece.after)

        return run


class _Unpacked:
    """The elements of pieces of results: lists and tuples are gathered in one list, other results become parts."""

    def __init__(self) -> None:
        self._parts: list[Piece] = []
        self._begin()

    def _begin(self) -> None:
        self._elements: list[Any] = []
        self._counts: list[int] = []
        self._ids: list[Rows] = []

    def add(self, piece: Piece) -> None:
        """Append the elements of a piece."""
        if isinstance(piece.chunk, Columns) and (rows := _rows_of(piece.chunk)) is not None:
            self._end_part()
            counts = np.full(len(piece), len(piece.chunk.columns))
            self._parts.append(Piece(leaf_column(rows), child_ids(piece.ids, counts)))
            return
        results = piece.chunk.held()
        types = piece.chunk.types if isinstance(piece.chunk, Items) else set(map(type, results))
        if types <= {list, tuple} or not results:
            self._elements.extend(chain.from_iterable(results))
            self._counts.extend(map(len, results))
            self._ids.append(piece.ids)
            return
        self._end_part()
        low = 0
        for is_there, run in groupby(results, is_sequence):
            those = list(run)
            ids = piece.ids[low : low + len(those)]
            low += len(those)
            chunk, counts = chunk_of(those) if is_there else (Items(list(map(HeldResult, those))), None)
            self._parts.append(Piece(chunk, ids if counts is None else child_ids(ids, counts)))

    def together(self) -> Piece:
        """Return all elements as one piece."""
        self._end_part()
        return join_pieces(self._parts)

    def _end_part(self) -> None:
        if self._ids:
            ids = np.concatenate(self._ids)
            self._parts.append(Piece(Items(self._elements), child_ids(ids, np.array(self._counts, np.int64))))
            self._begin()


def _rows_of(chunk: Columns) -> np.ndarray | None:
    """Return the elements of lists or tuples of n leaves of one kind end to end, `(k * n, ...)`; otherwise `None`."""
    treespec, columns = chunk.structure.treespec, chunk.columns
    if treespec.type not in (list, tuple) or treespec.num_nodes != len(columns) + 1 or not columns:
        return None
    arrays = [column for column in columns if isinstance(column, np.ndarray)]
    if len(arrays) < len(columns) or len({(array.dtype, array.shape) for array in arrays}) > 1:
        return None
    return np.stack(arrays, axis=1).reshape(len(arrays) * len(arrays[0]), *arrays[0].shape[1:])

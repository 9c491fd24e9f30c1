"""Split batches into smaller ones, so that consecutive elements are parts of one batch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from penstock.core.arrays import Allocate, Rows
from penstock.core.cached import cached_property
from penstock.core.errors import ElementError
from penstock.core.frozen import frozen
from penstock.elements.chunks.chunk import Chunk, Items
from penstock.elements.chunks.unstacking import check_lengths
from penstock.elements.nested.structure import flatten, paths, unflatten
from penstock.elements.ragged import Ragged
from penstock.elements.sparse import Sparse
from penstock.elements.spec import map_leaves
from penstock.index.expanded import expanded
from penstock.plan.blame import blame
from penstock.plan.flow import Piece, Spread
from penstock.plan.ids import child_ids
from penstock.plan.node import Node
from penstock.plan.types import Program, Spec


@frozen()
class SplitBatches(Node):
    """Yield every batch as `count` consecutive parts, whose rows differ by at most one."""

    elementwise = True

    input: Node
    count: int

    @property
    def name(self) -> str:
        return "split_batches"

    @cached_property
    def length(self) -> int:
        return self.input.length if self.input.length < 0 else self.input.length * self.count

    def spec(self) -> Spec | None:
        spec = self.input.spec()
        return None if spec is None else map_leaves(self._part_of_leaf, spec)

    def _part_of_leaf(self, _: str, leaf: Any) -> Any:
        shape = getattr(leaf, "shape", ())
        if not shape:
            return leaf
        is_even = shape[0] is not None and shape[0] % self.count == 0
        return replace(leaf, shape=(shape[0] // self.count if is_even else None, *shape[1:]))

    def rows_of(self, rows: Rows) -> Rows:
        """Return the row of the batch that each row is a part of."""
        return expanded(rows, count=self.count, stride=self.stride, input_stride=self.input.stride)

    def route(self, rows: Rows) -> tuple[Rows, ...]:
        return (np.unique(self.rows_of(rows)),)

    def program(self, inputs: tuple[Program, ...], allocate: Allocate) -> Program:
        (source,) = inputs

        def run(rows: Rows, out: list[np.ndarray] | None = None) -> Chunk:
            batches, which = np.unique(self.rows_of(rows), return_inverse=True)
            parts = self._split(source(batches), batches)
            places = rows % self.stride % self.count
            return Items([parts[batch][part] for batch, part in zip(which.tolist(), places.tolist(), strict=True)])

        return run

    def spread(self, allocate: Allocate) -> Spread:
        def run(piece: Piece) -> Piece:
            if len(piece) == 0:
                return piece
            parts = self._split(piece.chunk, piece.ids)
            ids = child_ids(piece.ids, np.full(len(piece), self.count))
            return Piece(Items([part for batch in parts for part in batch]), ids, piece.after)

        return run

    def _split(self, chunk: Chunk, rows: Rows) -> list[list[Any]]:
        """Return the parts of each batch."""
        made: list[list[Any]] = []
        for batch, row in zip(chunk.elements(), rows.tolist(), strict=True):
            try:
                made.append(list(self._parts(batch)))
            except Exception as error:
                blame(error, self.input, row)
                raise
        return made

    def _parts(self, batch: Any) -> Iterator[Any]:
        leaves, structure = flatten(batch)
        names = paths(structure)
        for leaf, path in zip(leaves, names, strict=True):
            if not isinstance(leaf, np.ndarray | Ragged | Sparse) or not leaf.shape:
                at = f" at {path}" if path else ""
                raise ElementError(f"split_batches: {leaf!r:.60}{at} has no first dimension; every leaf needs one")
        check_lengths("split_batches", leaves, names)
        rows = len(leaves[0]) if leaves else 0
        if rows < self.count:
            raise ElementError(
                f'split_batches({self.count}): a batch has {rows} rows; use drop_remainder=True or remainder="pad" '
                "where it is made, so that no batch is that short"
            )
        for part in range(self.count):
            low, high = (rows * place // self.count for place in (part, part + 1))
            yield unflatten(structure, [leaf[low:high] for leaf in leaves])

    def arguments(self) -> str:
        return str(self.count)

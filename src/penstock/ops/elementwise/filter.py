"""Keep the elements that a predicate accepts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, replace
from typing import Any

import numpy as np

from penstock.core.arrays import Allocate, Rows
from penstock.core.errors import ElementError
from penstock.core.frozen import frozen
from penstock.elements.chunks.chunk import Chunk, Columns, Items
from penstock.elements.nested.structure import LEAF
from penstock.kernels import true_positions
from penstock.ops.elementwise.apply import Apply, apply_traced, column_wise, drawing, element_wise
from penstock.plan.blame import blame
from penstock.plan.flow import Piece, Spread
from penstock.plan.functions import has_traced_form, name_of
from penstock.plan.node import Node, Streamed
from penstock.plan.safety.calls import called_in_turns
from penstock.plan.safety.writing import chunk_for
from penstock.plan.traits import Traits
from penstock.plan.types import Spec


@frozen()
class Filter(Streamed):
    """Keep the elements for which `predicate` is true.

    `vectorized`, `draws`, `seed`, `traceable` and `thread_safe` are those of `Map`.
    """

    elementwise = True
    traits = Traits(ids="kept", selects=True)

    input: Node
    predicate: Callable[..., Any]
    vectorized: bool = False
    draws: bool = False
    seed: int | None = None
    traceable: bool = field(default=True, metadata={"runs": True})
    thread_safe: bool | None = field(default=None, metadata={"runs": True})

    def spec(self) -> Spec | None:
        return self.input.spec()

    def spread(self, allocate: Allocate) -> Spread:
        judge = self._judge(allocate)

        def run(piece: Piece) -> Piece:
            if len(piece) == 0:
                return piece
            kept = self._kept(judge(piece.chunk, piece.ids), piece.ids)
            return piece if len(kept) == len(piece) else piece.select(kept)

        return run

    def _judge(self, allocate: Allocate) -> Callable[[Chunk, Rows], Chunk]:
        if has_traced_form(self.predicate):
            judge = apply_traced(replace(self, predicate=self.predicate.function), self.predicate, allocate)
            return lambda chunk, ids: judge(chunk, ids, [np.empty(len(chunk), np.bool_)])
        apply, ready = self._apply(allocate), chunk_for(self.predicate, go_on=True)
        return lambda chunk, ids: apply(ready(chunk), ids, None)

    def _apply(self, allocate: Allocate) -> Apply:
        return called_in_turns(self._build(allocate), self.predicate, self.thread_safe)

    def _build(self, allocate: Allocate) -> Callable[[Callable[..., Any]], Apply]:
        if self.vectorized:
            return lambda predicate: column_wise(self, predicate, allocate)
        if self.draws:
            if self.seed is None:
                raise RuntimeError("a random filter without a seed reached the compiler; run bind_seeds first")
            return drawing(self, self.seed)
        return element_wise(self)

    def _kept(self, made: Chunk, ids: Rows) -> Rows:
        """Return the positions of the elements for which the predicate returned true."""
        if isinstance(made, Columns) and made.structure == LEAF:
            (column,) = made.columns
            if isinstance(column, np.ndarray) and column.ndim == 1 and column.dtype == np.bool_:
                return np.flatnonzero(column)
        values = made.held()
        positions = true_positions(values)
        if positions is not None:
            return positions
        types = made.types if isinstance(made, Items) else set(map(type, values))
        if not types <= {bool, np.bool_}:
            self._check(values, ids)
        return np.flatnonzero(np.array(values, bool))

    def _check(self, values: list[Any], ids: Rows) -> None:
        """Raise an error unless each value is a single bool or an array of one without dimensions."""
        wrong = next(((i, value) for i, value in enumerate(values) if not _is_bool(value)), None)
        if wrong is None:
            return
        at, value = wrong
        error = ElementError(
            f"filter: the predicate returned {value!r:.80}; return True or False for each element, such as x % 2 == 1"
        )
        blame(error, self, int(ids[at]))
        raise error

    def arguments(self) -> str:
        vectorized = [f"vectorized={self.vectorized}"] if self.vectorized or not self.traceable else []
        return ", ".join([name_of(self.predicate), *vectorized])


def _is_bool(value: Any) -> bool:
    array = np.asarray(value)
    return array.dtype == np.bool_ and array.ndim == 0

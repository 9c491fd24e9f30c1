"""Apply a function to each element."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, replace
from typing import Any, cast

import numpy as np

from penstock.core.arrays import Allocate, Rows
from penstock.core.cached import cached_property
from penstock.core.errors import ElementError
from penstock.core.frozen import frozen
from penstock.elements.chunks.chunk import Chunk, Columns
from penstock.elements.chunks.overlapping import do_overlap
from penstock.elements.chunks.variants import duplicate
from penstock.elements.nested.nesting import PathStep, part_in, part_of_chunk, with_part, with_part_of_chunk
from penstock.index.blocked import Blocks
from penstock.ops.elementwise.apply import (
    Apply,
    apply_traced,
    column_wise,
    drawing,
    element_wise,
    in_one_call,
    in_one_chunk,
)
from penstock.plan.blame import blame
from penstock.plan.flow import Piece, Spread
from penstock.plan.functions import (
    ChunkFunction,
    ColumnFunction,
    has_traced_form,
    is_declared,
    makes_column,
    makes_columns,
    name_of,
)
from penstock.plan.last_pass import LastPass
from penstock.plan.node import Node
from penstock.plan.safety.calls import called_in_turns
from penstock.plan.step import Step
from penstock.plan.traits import Traits
from penstock.plan.types import Spec

MAP = "map"


@frozen()
class Map(Node):
    """Replace each element, or its part `on`, by the result of `function`.

    If `draws`, the function receives a generator keyed by (`seed`, row). If `vectorized`, the function is called with
    columns. If `traceable`, a rewrite may substitute a program that computes the same from columns. `thread_safe` is
    the user's declaration. A map may be a part of another operation, whose name is then `called`. If `as_columns`, a
    batch is all that follows, and copies the leaves of results: they may come as columns that hold arrays of others.
    """

    elementwise = True
    traits = Traits(ids="kept", one_to_one=True)

    input: Node
    function: Callable[..., Any] | ColumnFunction | ChunkFunction
    on: PathStep | None = None
    vectorized: bool = False
    draws: bool = False
    seed: int | None = None
    traceable: bool = field(default=True, metadata={"runs": True})
    num_parallel_calls: int | None = field(default=None, metadata={"runs": True})
    deterministic: bool | None = field(default=None, metadata={"runs": True})
    thread_safe: bool | None = field(default=None, metadata={"runs": True})
    called: str = field(default=MAP, metadata={"runs": True})
    as_columns: bool = field(default=False, metadata={"runs": True})

    @property
    def name(self) -> str:
        return self.called

    @property
    def internal(self) -> bool:
        return self.called != MAP

    @cached_property
    def length(self) -> int:
        return self.input.length

    @cached_property
    def last_pass(self) -> LastPass:
        """The last iterator that the function returned in this process to an operation that yields its elements."""
        return LastPass(self.name)

    def spec(self) -> Spec | None:
        function = self.function
        if not is_declared(function):
            return None
        spec = self.input.spec()
        if spec is None:
            return None
        if self.on is None:
            return function.spec(spec)
        made = function.spec(part_in(spec, self.on))
        return None if made is None else with_part(spec, self.on, made)

    def route(self, rows: Rows) -> tuple[Rows, ...]:
        return (rows,)

    def blocks(self, inputs: tuple[Blocks | None, ...]) -> Blocks | None:
        return inputs[0]

    def as_step(self, allocate: Allocate) -> Step | None:
        change = self._changed(allocate)
        return Step(change=lambda chunk, rows, below, out: change(chunk, rows, out))

    def spread(self, allocate: Allocate) -> Spread:
        change = self._changed(allocate)

        def run(piece: Piece) -> Piece:
            return Piece(change(piece.chunk, piece.ids, None), piece.ids, piece.after) if len(piece) else piece

        return run

    def _changed(self, allocate: Allocate) -> Apply:
        """Return the function that applies the user's function to the elements of a chunk, or to their part `on`."""
        apply = self._apply(allocate)
        if self.on is None:
            return apply
        on = self.on

        def change(chunk: Chunk, rows: Rows, out: list[np.ndarray] | None) -> Chunk:
            if isinstance(chunk, Columns) and do_overlap(chunk.columns):
                chunk = duplicate(chunk)  # the function may write into the part, and the rest stays as it is
            try:
                part, at = part_of_chunk(chunk, on)
            except ElementError as error:
                failed, error.rows = int(rows[error.rows[0] if error.rows else 0]), ()
                blame(error, self, failed)
                raise
            made = apply(part, rows, None if out is None or at is None else _of_part(out, at, chunk))
            return with_part_of_chunk(chunk, on, made)

        return change

    @property
    def _of_elements(self) -> Callable[..., Any] | None:
        """The function, if it is called with single elements."""
        function = self.function
        if self.vectorized or has_traced_form(function) or makes_column(function) or makes_columns(function):
            return None
        return cast("Callable[..., Any]", function)

    def _apply(self, allocate: Allocate) -> Apply:
        of_elements, function = self._of_elements, self.function
        if of_elements is not None and not self.draws:
            return called_in_turns(element_wise(self, as_columns=self.as_columns), of_elements, self.thread_safe)
        if of_elements is not None:
            if self.seed is None:
                raise RuntimeError("a random map without a seed reached the compiler; run bind_seeds first")
            return called_in_turns(drawing(self, self.seed), of_elements, self.thread_safe)
        if makes_column(function):
            return in_one_call(self, function)
        if makes_columns(function):
            return in_one_chunk(self, function, allocate)
        if has_traced_form(function):
            return apply_traced(replace(self, function=function.function), function, allocate)
        return called_in_turns(lambda function: column_wise(self, function, allocate), function, self.thread_safe)

    def arguments(self) -> str:
        on = [] if self.on is None else [f"on={self.on!r}"]
        vectorized = [f"vectorized={self.vectorized}"] if self.vectorized or not self.traceable else []
        return ", ".join([name_of(self.function), *on, *vectorized])


def _of_part(out: list[np.ndarray], at: int, chunk: Chunk) -> list[np.ndarray]:
    """Return the memory for the result that replaces leaf `at` of a chunk; the result may have several leaves."""
    after = chunk.structure.num_leaves - at - 1 if isinstance(chunk, Columns) else 0
    return out[at : len(out) - after]

"""Cut the elements into windows, each a dataset."""

from __future__ import annotations

from dataclasses import field
from typing import Any

import numpy as np

from penstock.core.arrays import Allocate, Rows
from penstock.core.cached import cached_property
from penstock.core.frozen import frozen
from penstock.elements.chunks.chunk import Chunk, Column, Items
from penstock.elements.leaves.values import read_only
from penstock.elements.nested.structure import LEAF, flatten, unflatten
from penstock.elements.ragged import Ragged
from penstock.elements.sparse import Sparse
from penstock.elements.spec import ObjectSpec
from penstock.index.windowed import windowed, windows_in
from penstock.ops.group.grouping import spans
from penstock.ops.read.source import Read
from penstock.plan.blame import blame
from penstock.plan.flow import Flow, Mark, Open, Piece, Reader, join_pieces, resumed
from penstock.plan.ids import ordinals
from penstock.plan.node import Node
from penstock.plan.traits import Traits
from penstock.plan.types import Program, Spec
from penstock.sources.arrays import ArraySource


@frozen()
class SlidingWindow(Node):
    """Collect `size` elements, `step` apart, from every `shift`-th element on, in a dataset for each leaf.

    `dataset` is the class that wraps a plan.
    """

    kind = "Window"
    traits = Traits(ids="counted")

    input: Node
    size: int
    shift: int
    step: int
    drop_remainder: bool
    dataset: type[Any] = field(metadata={"runs": True})

    @property
    def name(self) -> str:
        return "window"

    @cached_property
    def length(self) -> int:
        if self.input.length < 0:
            return self.input.length
        return windows_in(self.input.length, size=self.size, shift=self.shift, step=self.step, drop=self.drop_remainder)

    def spec(self) -> Spec | None:
        spec = self.input.spec()
        if spec is None:
            return None
        leaves, structure = flatten(spec)
        return unflatten(structure, [ObjectSpec(self.dataset)] * len(leaves))

    def windows(self, rows: Rows) -> tuple[Rows, Rows]:
        """Return the input's rows of all windows, one window after another, and the number of rows of each."""
        return windowed(
            rows,
            size=self.size,
            shift=self.shift,
            step=self.step,
            windows=self.stride,
            length=self.input.stride,
            input_stride=self.input.stride,
        )

    def route(self, rows: Rows) -> tuple[Rows, ...]:
        return (self.windows(rows)[0],)

    def program(self, inputs: tuple[Program, ...], allocate: Allocate) -> Program:
        (source,) = inputs

        def run(rows: Rows, out: list[np.ndarray] | None = None) -> Chunk:
            its_rows, counts = self.windows(rows)
            made, which = np.unique(its_rows, return_inverse=True)  # windows may share elements
            chunk = source(made)
            return Items(
                [
                    self.collect(chunk.select(which[low:high]), its_rows[low:high], row)
                    for row, (low, high) in zip(rows.tolist(), spans(counts), strict=True)
                ]
            )

        return run

    def collect(self, chunk: Chunk, rows: Rows, row: int) -> Any:
        """Return the window of the elements of `chunk`, which are `rows` of the input: a dataset for each leaf."""
        try:
            columns = chunk.to_columns(rows=rows, operation="window")
        except Exception as error:
            blame(error, self, row)
            raise
        return unflatten(columns.structure, [self._leaf(column) for column in columns.columns])

    def _leaf(self, column: Column) -> Any:
        return self.dataset(Read(ArraySource(LEAF, [_read_only(column)], "window")))

    def flow(self, inputs: tuple[Open, ...], epoch: int, mark: Mark, allocate: Allocate) -> Flow:
        made, at, left_out = resumed(mark, (0, None, 0))
        span = (self.size - 1) * self.step + 1
        with Reader(inputs[0], epoch, at) as reader:
            reader.skip(left_out)
            ahead = LookAhead(reader)
            while (run := ahead.first(span)) is not None and not (len(run) < span and self.drop_remainder):
                run = run.select(np.arange(0, len(run), self.step))
                element = self.collect(run.chunk, run.ids, made)
                ahead.leave(self.shift)
                made += 1
                yield Piece(Items([element]), ordinals(epoch, made - 1, 1), [made, *ahead.mark])

    def redone(self) -> str:
        shared = (self.size - 1) * self.step + 1 - self.shift
        return f"reads up to {shared:,} elements again, which windows share" if shared > 0 else ""

    def arguments(self) -> str:
        shift = [] if self.shift == self.size else [f"shift={self.shift}"]
        step = [] if self.step == 1 else [f"stride={self.step}"]
        drop = ["drop_remainder=True"] if self.drop_remainder else []
        return ", ".join([str(self.size), *shift, *step, *drop])


class LookAhead:
    """A reader with lookahead: elements can be looked at before the reader moves past them, and be read again."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._held: Piece | None = None
        self._marks: list[tuple[int, Mark]] = []  # the reader's marks, by position among the elements held

    def first(self, count: int) -> Piece | None:
        """Return the next `count` elements, or as many as are left; `None` at the end."""
        held = len(self._held) if self._held is not None else 0
        mark = self._reader.mark
        if held < count and (more := self._reader.take(count - held)) is not None:
            self._marks.append((held, mark))
            self._held = more if self._held is None else join_pieces([self._held, more])
        return self._held if self._held is None or len(self._held) <= count else self._held.slice(0, count)

    def leave(self, count: int) -> None:
        """Move past the next `count` elements."""
        held = len(self._held) if self._held is not None else 0
        if self._held is None or held <= count:
            self._reader.skip(count - held)
            self._held, self._marks = None, []
            return
        self._held = self._held.slice(count, held)
        moved = [(place - count, mark) for place, mark in self._marks]
        passed = sum(place <= 0 for place, _ in moved)
        self._marks = moved[max(passed - 1, 0) :]

    @property
    def mark(self) -> Mark:
        """A mark of the reader, and the number of elements to skip from there to reach the first one held."""
        if not self._marks:
            return [self._reader.mark, 0]
        place, mark = self._marks[0]
        return [mark, -place]


def _read_only(column: Any) -> Column:
    """Return the column with read-only arrays, because windows may share elements."""
    if isinstance(column, list):
        return [_read_only(value) if isinstance(value, np.ndarray | Ragged | Sparse) else value for value in column]
    return read_only(column) if isinstance(column, np.ndarray) else column.frozen()

"""What nodes that make batches of consecutive elements have in common: lengths, rows, and one batch at a time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from penstock.elements.chunk import Chunk, Items
from penstock.index.grouped import grouped
from penstock.plan.flow import Flow, Mark, Open, Piece, Reader, ordinals
from penstock.plan.locate import blame
from penstock.plan.node import INFINITE, UNKNOWN, Allocate, Node, Program, Rows


@dataclass(frozen=True)
class Grouping(Node):
    """Collect `size` consecutive elements; the last group of an epoch is shorter, or left out with `drop_remainder`.

    A subclass says how one group becomes one element (`collect`), which serves indexed input and streams alike.
    """

    input: Node
    size: int
    drop_remainder: bool

    @cached_property
    def length(self) -> int:
        if self.input.length < 0:
            return self.input.length
        whole, rest = divmod(self.input.length, self.size)
        return whole + (rest > 0 and not self.drop_remainder)

    @property
    def all_full(self) -> bool:
        """Whether every group has `size` elements."""
        if self.drop_remainder or self.input.length == INFINITE:
            return True
        return self.input.length != UNKNOWN and self.input.length % self.size == 0

    def collect(self, chunk: Chunk, rows: Rows, allocate: Allocate) -> Any:
        """One element from the run of elements `chunk`, which are `rows` of the input."""
        raise NotImplementedError

    def grouped(self, rows: Rows) -> tuple[Rows, np.ndarray]:
        """The input's rows of all the groups, one group after another, and how many each has."""
        return grouped(
            rows, size=self.size, batches=self.stride, length=self.input.stride, input_stride=self.input.stride
        )

    def route(self, rows: Rows) -> tuple[Rows, ...]:
        return (self.grouped(rows)[0],)

    def program(self, inputs: tuple[Program, ...], allocate: Allocate) -> Program:
        (source,) = inputs

        def run(rows: Rows, out: list[np.ndarray] | None = None) -> Chunk:
            its_rows, counts = self.grouped(rows)
            chunk = source(its_rows)
            made: list[Any] = []
            try:
                for low, high in spans(counts):
                    made.append(self.collect(chunk.slice(low, high), its_rows[low:high], allocate))
            except Exception as error:
                self.blame(error, int(rows[len(made)]))
                raise
            return Items(made)

        return run

    def flow(self, inputs: tuple[Open, ...], epoch: int, mark: Mark, allocate: Allocate) -> Flow:
        made, at = mark or (0, None)
        with Reader(inputs[0], epoch, at) as reader:
            while (run := reader.take(self.size)) is not None:
                if len(run) < self.size and self.drop_remainder:
                    return
                rows = np.arange(made * self.size, made * self.size + len(run), dtype=np.int64)  # as errors name them
                try:
                    element = self.collect(run.chunk, rows, allocate)
                except Exception as error:
                    self.blame(error, made)
                    raise
                made += 1
                yield Piece(Items([element]), ordinals(epoch, made - 1, 1), [made, reader.mark])

    def blame(self, error: Exception, row: int) -> None:
        """Say in the error's notes which group failed, unless an input has said more."""
        if not getattr(error, "__notes__", None):
            blame(error, self, row)

    def arguments(self) -> str:
        return f"{self.size}, drop_remainder=True" if self.drop_remainder else str(self.size)


def spans(counts: np.ndarray) -> zip[tuple[int, int]]:
    """Where each group of so many elements begins and ends, one after another."""
    ends = np.cumsum(counts).tolist()
    return zip([0, *ends], ends, strict=False)

"""Stack consecutive elements along a new first axis."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from penstock.elements.chunk import Chunk, Column, Columns, Items
from penstock.elements.gathering import stack_all
from penstock.elements.spec import batched
from penstock.elements.structure import unflatten
from penstock.index.grouped import grouped
from penstock.plan.locate import blame
from penstock.plan.node import INFINITE, Allocate, Node, Program, Rows, Spec


@dataclass(frozen=True)
class Batch(Node):
    """Stack `size` consecutive elements; the last batch of an epoch is shorter, or left out with `drop_remainder`."""

    input: Node
    size: int
    drop_remainder: bool

    @cached_property
    def length(self) -> int:
        if self.input.length == INFINITE:
            return INFINITE
        whole, rest = divmod(self.input.length, self.size)
        return whole + (rest > 0 and not self.drop_remainder)

    @property
    def all_full(self) -> bool:
        """Whether every batch has `size` elements."""
        return self.drop_remainder or self.input.length == INFINITE or self.input.length % self.size == 0

    def spec(self) -> Spec | None:
        spec = self.input.spec()
        return None if spec is None else batched(spec, self.size if self.all_full else None)

    def grouped(self, rows: Rows) -> tuple[Rows, np.ndarray]:
        """The input's rows of all the batches, one batch after another, and how many each has."""
        return grouped(
            rows, size=self.size, batches=self.stride, length=self.input.stride, input_stride=self.input.stride
        )

    def route(self, rows: Rows) -> tuple[Rows, ...]:
        return (self.grouped(rows)[0],)

    def program(self, inputs: tuple[Program, ...], allocate: Allocate) -> Program:
        (source,) = inputs

        def run(rows: Rows, out: list[np.ndarray] | None = None) -> Chunk:
            its_rows, counts = self.grouped(rows)
            uniform = len(rows) > 0 and bool((counts == counts[0]).all())
            # memory for k batches of b elements is memory for k * b elements
            memory = [array.reshape(-1, *array.shape[2:]) for array in out] if out is not None and uniform else None
            try:
                structure, arrays = stack_all(source(its_rows, memory), its_rows, out=memory, allocate=allocate)
            except Exception as error:
                if not getattr(error, "__notes__", None):
                    blame(error, self, int(rows[0]))
                raise
            if uniform:
                columns: list[Column] = [array.reshape(len(rows), counts[0], *array.shape[1:]) for array in arrays]
                return Columns(structure, columns, len(rows))
            ends = np.cumsum(counts).tolist()
            starts = [0, *ends[:-1]]
            spans = zip(starts, ends, strict=True)
            return Items([unflatten(structure, [array[low:high] for array in arrays]) for low, high in spans])

        return run

    def arguments(self) -> str:
        return f"{self.size}, drop_remainder=True" if self.drop_remainder else str(self.size)

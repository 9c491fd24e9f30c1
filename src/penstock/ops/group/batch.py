"""Stack consecutive elements along a new first axis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.elements.chunk import Chunk, Column, Columns, Items
from penstock.elements.gathering import stack_all
from penstock.elements.spec import batched
from penstock.elements.stacking import folded
from penstock.elements.structure import unflatten
from penstock.ops.group.grouping import Grouping, spans
from penstock.plan.node import Allocate, Program, Rows, Spec


@dataclass(frozen=True)
class Batch(Grouping):
    """Stack `size` consecutive elements; the last batch of an epoch is shorter, or left out with `drop_remainder`."""

    def spec(self) -> Spec | None:
        spec = self.input.spec()
        return None if spec is None else batched(spec, self.size if self.all_full else None)

    def collect(self, chunk: Chunk, rows: Rows, allocate: Allocate) -> Any:
        structure, arrays = stack_all(chunk, rows, out=None, allocate=allocate)
        return unflatten(structure, arrays)

    def collect_several(self, chunk: Chunk, rows: Rows, allocate: Allocate) -> Chunk:
        structure, arrays = stack_all(chunk, rows, out=None, allocate=allocate)
        return Columns(structure, [folded(array, self.size) for array in arrays], len(rows) // self.size)

    def takes_views(self, chunk: Chunk | None) -> bool:
        columns = chunk.columns if isinstance(chunk, Columns) else [None]
        return all(isinstance(column, np.ndarray) and column.flags.writeable for column in columns)

    def program(self, inputs: tuple[Program, ...], allocate: Allocate) -> Program:
        """Stack the elements of all batches at once, in the memory given: no step for each batch."""
        (source,) = inputs

        def run(rows: Rows, out: list[np.ndarray] | None = None) -> Chunk:
            its_rows, counts = self.grouped(rows)
            uniform = len(rows) > 0 and bool((counts == counts[0]).all())
            memory = None
            if out is not None and uniform:
                memory = [_for_elements(array, len(rows), int(counts[0])) for array in out]
            try:
                structure, arrays = stack_all(source(its_rows, memory), its_rows, out=memory, allocate=allocate)
            except Exception as error:
                self.blame(error, int(rows[0]))
                raise
            if uniform:
                columns: list[Column] = [folded(array, int(counts[0])) for array in arrays]
                return Columns(structure, columns, len(rows))
            return Items([unflatten(structure, [array[low:high] for array in arrays]) for low, high in spans(counts)])

        return run


def _for_elements(memory: np.ndarray, batches: int, size: int) -> np.ndarray:
    """Memory for k batches of b elements as memory for k * b elements; what is of another shape stays as it is."""
    return memory.reshape(batches * size, *memory.shape[2:]) if memory.shape[:2] == (batches, size) else memory

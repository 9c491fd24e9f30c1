"""Stack consecutive elements along a new first axis."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Any

import numpy as np

from penstock.core.arrays import Allocate, Rows
from penstock.core.errors import ElementError
from penstock.core.frozen import frozen
from penstock.elements import chunks
from penstock.elements.chunks.chunk import Chunk, Column, Columns, Items
from penstock.elements.chunks.stacking import Stack, folded
from penstock.elements.chunks.to_arrays import stack_all
from penstock.elements.nested.structure import Structure, flatten, unflatten
from penstock.elements.ragged import Ragged
from penstock.elements.spec import ObjectSpec, batched, of_any_largest
from penstock.ops.group.grouping import Grouping, Groups, spans
from penstock.ops.group.in_slot import OptionalSlot, for_elements
from penstock.plan.types import Spec

_NOWHERE = np.empty(0, object)  # no element fits there


@frozen()
class Batch(Grouping):
    """Stack `size` consecutive elements; `Sparse` arrays of a batch are as large as the largest.

    `shapes_known` is True if the plan knew the shapes of the elements when it was built.
    """

    shapes_known: bool = field(default=True, kw_only=True, metadata={"runs": True})

    def spec(self) -> Spec | None:
        spec, size = self.input.spec(), self.static_size
        if spec is None:
            return None
        return self.completed_spec(batched(spec if self.shapes_known else of_any_largest(spec), size), size)

    def collect(self, chunk: Chunk, rows: Rows, allocate: Allocate) -> Any:
        structure, arrays = self._stacked(chunk, rows, None, allocate, to_largest=True)
        return unflatten(structure, arrays)

    def collect_all(self, groups: Groups, out: OptionalSlot, allocate: Allocate) -> Chunk:
        """Stack the elements of all batches at once, in the memory for elements, without a step per batch."""
        batches, chunk, rows, counts = groups
        try:
            stacked = self._stacked(chunk, rows, out, allocate, to_largest=len(batches) == 1)
        except ElementError:  # elements of one batch do not fit together, or those of several, which may fit separately
            stacked = None
        if stacked is None:
            return super().collect_all(groups, None, allocate)
        structure, arrays = stacked
        are_full = len(rows) == len(batches) * self.size  # as no batch is larger
        if len(batches) and (are_full or bool((counts == counts[0]).all())):
            return self.folded(structure, arrays, int(counts[0]), len(batches), allocate)
        return self._cut(structure, arrays, counts, allocate)

    @property
    def memory_below(self) -> Callable[[OptionalSlot, Rows, Rows], OptionalSlot] | None:
        is_text = _which_are_texts(self.input.spec())

        def memory(out: OptionalSlot, rows: Rows, its_rows: Rows) -> OptionalSlot:
            count = len(its_rows)
            if count != len(rows) * self.size and (self.counts(rows)[:-1] != self.size).any():
                return None  # elements after a short batch would overwrite those of other batches
            below = None if out is None else self.memory_of_elements(out, len(rows), count)
            if not any(is_text) or (below is not None and len(below) != len(is_text)):
                return below
            places = [_NOWHERE] * len(is_text) if below is None else below
            return [np.empty(count, object) if text else place for text, place in zip(is_text, places, strict=True)]

        return memory

    def memory_of_elements(self, out: list[np.ndarray], batches: int, count: int) -> OptionalSlot:
        """Return memory for k batches, without that of their flags, as memory for `count` elements.

        All batches but the last must be full.
        """
        if self.mask_key is not None:
            below = chunks.padding.without_flags(out, self.input.spec(), self.mask_key)
            if below is None:
                return None
            out = below
        return [for_elements(array, batches, count) for array in out]

    def _stacked(
        self, chunk: Chunk, rows: Rows, out: OptionalSlot, allocate: Allocate, *, to_largest: bool = False
    ) -> tuple[Structure, list[Stack]]:
        """Return the elements stacked; `Ragged` rows stay ragged if the plan did not know that they were."""
        uneven = isinstance(chunk, Columns) and any(isinstance(column, Ragged) for column in chunk.columns)
        keep = uneven and self.input.spec() is None
        return stack_all(chunk, rows, out=out, allocate=allocate, keep_ragged=keep, to_largest=to_largest)

    def takes_views(self, chunk: Chunk | None) -> bool:
        columns = chunk.columns if isinstance(chunk, Columns) else [None]
        return all(isinstance(column, np.ndarray) and column.flags.writeable for column in columns)

    def folded(self, structure: Structure, arrays: list[Stack], size: int, batches: int, allocate: Allocate) -> Chunk:
        """Return the batches of `size` elements each from `arrays`, where the batches are end to end."""
        if size < self.size and self.pads:
            return self._cut(structure, arrays, np.full(batches, size), allocate)
        columns: list[Column] = [folded(array, size) for array in arrays]
        whole = Columns(structure, columns, batches)
        if self.mask_key is None:
            return whole
        return chunks.padding.flagged(whole, np.ones((batches, size), np.bool_), self.mask_key)

    def _cut(self, structure: Structure, arrays: list[Stack], counts: np.ndarray, allocate: Allocate) -> Chunk:
        """Return batches of `counts` elements, each cut out of `arrays` separately."""
        made: list[Any] = []
        for low, high in spans(counts):
            batch = unflatten(structure, [array[low:high] for array in arrays])
            made.append(self.completed(batch, high - low, self.size, allocate))
        return Items(made)


def _which_are_texts(spec: Spec | None) -> list[bool]:
    """Return for each leaf whether it is text or bytes: slots have no place for these, but readers write into one."""
    leaves = [] if spec is None else flatten(spec)[0]
    return [isinstance(leaf, ObjectSpec) and leaf.type in (str, bytes) for leaf in leaves]

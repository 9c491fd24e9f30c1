"""Slots for the batches of a stream that the caller has given memory for: one for each batch."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.core.arrays import Allocate, AllocateAll
from penstock.elements.chunks.chunk import Items
from penstock.engine.memory.slots import Slot, Slots, moved_into
from penstock.ops.group.in_slot import InSlot
from penstock.plan.flow import Flow, Piece, close
from penstock.plan.node import Node


class StreamSlots:
    """Slots for one batch after another.

    A flow that makes one batch at a time writes the arrays that it asks `allocate` for into the slot of the next batch.
    Other arrays are copied there once the batch is made.
    """

    def __init__(self, plan: Node, allocate_slot: AllocateAll, elsewhere: Allocate) -> None:
        self._slots = Slots(plan, allocate_slot)
        self._elsewhere = elsewhere
        self._slot: Slot | None = None  # of the batch that is being made
        self._place: Allocate | None = None

    def allocate(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
        """Return memory for an array of the next batch: in its slot, if there is a place of this shape and dtype."""
        if self._place is None:
            self._slot = self._slots.take(1, last=False)
            self._place = InSlot(self._slot, 1, self._elsewhere).next()
        return self._place(shape, dtype)

    def placed(self, flow: Flow) -> Flow:
        """Yield the pieces of a flow with each batch in its slot, if it fits there."""
        try:
            for piece in flow:
                yield self._with_slots(piece)
        finally:
            close(flow)

    def _with_slots(self, piece: Piece) -> Piece:
        batches = piece.chunk.held()
        # of several batches, any may have arrays in the slot
        slot = self._slot if len(batches) == 1 else None
        self._slot = self._place = None
        return piece.over(Items([self._in_slot(batch, slot) for batch in batches]))

    def _in_slot(self, batch: Any, slot: Slot | None) -> Any:
        slot = self._slots.take(1, last=False) if slot is None else slot
        chunk = Items([batch])
        made = chunk if slot is None else moved_into(chunk, slot)
        self._slots.learn(made, slot)
        return made.element(0)

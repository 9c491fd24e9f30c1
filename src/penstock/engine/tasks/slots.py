"""The slots of batches, allocated before they are made, so that every part of them is written in place."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from math import prod
from operator import is_
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np

from penstock.core.arrays import Allocate, AllocateAll
from penstock.core.frozen import frozen
from penstock.elements.chunks.chunk import Chunk, Column, Columns, Items
from penstock.elements.nested.structure import flatten, unflatten
from penstock.elements.ragged import Ragged
from penstock.elements.size import bytes_of, text_bytes_of
from penstock.elements.sparse import Sparse
from penstock.elements.spec import ArraySpec
from penstock.ops.group.grouping import Grouping
from penstock.ops.group.in_slot import InSlot
from penstock.plan.flow import Flow, Piece, close
from penstock.plan.graph import end_of
from penstock.plan.node import Node

Slot: TypeAlias = list[np.ndarray]
"""The memory of some items, one array of shape (items, ...) for each leaf; `NO_PLACE` for one without a place."""

NO_PLACE = np.empty(0, object)
"""The array in a slot where no value fits: numbers, lists, texts and ragged rows come by themselves."""
NO_PLACE.flags.writeable = False


class LeafShape(NamedTuple):
    """Shape and dtype of a leaf of one item, and its bytes `outside` of a slot, such as ragged rows and texts."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    outside: int = 0

    @property
    def nbytes(self) -> int:
        """The number of bytes of the leaf in one item."""
        return prod(self.shape) * self.dtype.itemsize + self.outside

    @property
    def has_place(self) -> bool:
        """Return whether a slot has a place for the leaf: not for objects, and not for the number that sums up a batch.

        In an array, nobody would know whether it is one of NumPy or of Python.
        """
        return bool(self.shape) and not self.dtype.hasobject


@frozen()
class SlotsBefore:
    """The shapes of batches of an epoch before, and whether batches were written into their slots."""

    shapes: list[LeafShape] | None = None
    is_used: bool = False


NO_EPOCH_BEFORE = SlotsBefore()


class Slots:
    """Allocator of slots for batches whose leaves have one shape, taken from the plan or from the batch before."""

    def __init__(self, plan: Node, allocate: AllocateAll, before: SlotsBefore = NO_EPOCH_BEFORE) -> None:
        """Allocate by `allocate`; the shapes of an epoch before are those of this one until a batch has others."""
        self._allocate = allocate
        self._set_shapes(before.shapes or _static_shapes(plan))
        self._is_sized = all(not leaf.dtype.hasobject for leaf in self._shapes or ())  # else by the first batch
        self._is_learned = False  # from a batch of this epoch
        self._varies = False
        self._is_given = False
        self._is_used = before.is_used  # true once a batch was written into its slot
        self._items = 0  # in the slot before

    def _set_shapes(self, shapes: list[LeafShape] | None) -> None:
        self._shapes = shapes
        self._has_place = [leaf.has_place for leaf in shapes or ()]
        self._nbytes = sum([leaf.nbytes for leaf in shapes or ()])
        outside = sum([leaf.outside for leaf in shapes or ()])
        self._fills = True in self._has_place and 2 * outside <= self._nbytes  # else most of a batch is elsewhere

    @property
    def after(self) -> SlotsBefore:
        """The shapes and uses that the slots of the next epoch begin with."""
        return SlotsBefore(self._shapes, self._is_used)

    @property
    def item_bytes(self) -> int:
        """The number of bytes in one batch; 0 while unknown."""
        return self._nbytes if self._is_sized else 0

    def take(self, items: int, *, last: bool) -> Slot | None:
        """Return a slot for `items` batches; the `last` one of an epoch is cut from a full one, to reuse its block.

        The first slot is a trial: others follow once batches were written to it, as functions may use other memory.
        There is none for batches that would be mostly outside, such as ragged rows beside a few numbers.
        """
        if self._shapes is None or self._varies or (self._is_given and not self._is_used) or not self._fills:
            return None
        self._is_given = True
        count = max(items, self._items) if last else items
        self._items = items
        kinds = [((count, *leaf.shape), leaf.dtype) for leaf in compress(self._shapes, self._has_place)]
        memory = iter(self._allocate(kinds))
        return [next(memory)[:items] if has else NO_PLACE for has in self._has_place]

    def learn(self, chunk: Chunk, slot: Slot | None = None) -> None:
        """Note the shapes of batches made, perhaps in a `slot`; the last batch of an epoch may be shorter."""
        if not len(chunk):
            return
        columns = chunk.columns if isinstance(chunk, Columns) else [[leaf] for leaf in flatten(chunk.element(0))[0]]
        self._is_used = self._is_used or (slot is not None and _is_written(columns, slot))
        is_first, self._is_learned, self._is_sized = not self._is_learned, True, True
        shapes = list(map(_shape_of, columns))
        known = self._shapes
        if shapes == known:
            return
        if known is not None and len(known) == len(shapes):
            if all(map(_is_shorter, shapes, known)):
                return
            differs = any(new.shape[1:] != old.shape[1:] for new, old in zip(shapes, known, strict=True))
            self._varies = self._varies or (differs and not is_first)
        self._set_shapes(shapes)


class StreamSlots:
    """Slots for one batch after another of a stream, in memory that the caller has given.

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


def moved_into(chunk: Chunk, slot: Slot) -> Chunk:
    """Return batches with the leaves that are elsewhere copied into their places in `slot`, if all of them fit there.

    A batch with rows of `Ragged` or `Sparse` stays as it is, since these have no place.

    >>> slot = [np.zeros((1, 2))]
    >>> (batch,) = moved_into(Items([np.ones(2)]), slot).elements()
    >>> batch.base is slot[0], slot[0].tolist()
    (True, [[1.0, 1.0]])
    """
    if isinstance(chunk, Columns) and len(chunk.columns) == len(slot) and all(map(is_, chunk.columns, slot)):
        return chunk
    moved = [
        _moved(batch, [memory[i] if len(memory) else memory for memory in slot]) for i, batch in enumerate(chunk.held())
    ]
    return Items(moved)


def _moved(batch: Any, places: list[Any]) -> Any:
    """Return one batch with its leaves in these places, where a batch with fewer rows takes the first."""
    leaves, structure = flatten(batch)
    if len(leaves) != len(places) or any(isinstance(leaf, Ragged | Sparse) for leaf in leaves):
        return batch
    moves: list[tuple[int, np.ndarray, np.ndarray]] = []
    for at, (leaf, whole) in enumerate(zip(leaves, places, strict=True)):
        if not isinstance(leaf, np.ndarray) or leaf.dtype.hasobject or not isinstance(whole, np.ndarray):
            continue
        place = whole[: len(leaf)] if leaf.ndim else whole
        if type(leaf) is not np.ndarray or place.shape != leaf.shape or place.dtype != leaf.dtype:
            return batch
        if leaf.ctypes.data != place.ctypes.data or leaf.strides != place.strides:
            moves.append((at, leaf, place))
    if any(
        np.may_share_memory(leaf, place) for leaf in leaves for _, _, place in moves if isinstance(leaf, np.ndarray)
    ):
        return batch  # a copy would overwrite a leaf
    for at, leaf, place in moves:
        np.copyto(place, leaf)
        leaves[at] = place
    return unflatten(structure, leaves)


def _is_written(columns: Sequence[Column], slot: Slot) -> bool:
    """Return True if some leaf of the first batch is in the slot."""
    firsts = [column[0] if isinstance(column, list) else column for column in columns]
    pairs = zip(firsts, slot, strict=False)
    return any(isinstance(first, np.ndarray) and np.may_share_memory(first, memory) for first, memory in pairs)


def _is_shorter(new: LeafShape, known: LeafShape) -> bool:
    if not new.shape or not known.shape:
        return new == known
    return new.dtype == known.dtype and new.shape[1:] == known.shape[1:] and new.shape[0] < known.shape[0]


def _shape_of(column: Column) -> LeafShape:
    """Return the memory of a leaf of one batch; rows of `Ragged` or `Sparse` are outside of the slot."""
    if isinstance(column, list) and isinstance(column[0], np.ndarray):
        column = column[0][None]
    if isinstance(column, np.ndarray):
        texts = text_bytes_of(column) * prod(column.shape[1:]) if column.dtype.hasobject else 0
        return LeafShape(column.shape[1:], column.dtype, texts)
    nbytes = bytes_of(column[0]) if isinstance(column, list) else column.nbytes // max(len(column), 1)
    return LeafShape((), np.dtype(object), outside=nbytes)


def _static_shapes(plan: Node) -> list[LeafShape] | None:
    """Return the shapes of full batches if the plan specifies all of them."""
    spec = plan.spec()
    if spec is None:
        return None
    _, below = end_of(plan)
    size = _most_in_group(below) if isinstance(below, Grouping) else None
    shapes: list[LeafShape] = []
    for leaf in flatten(spec)[0]:
        if not isinstance(leaf, ArraySpec):
            shapes.append(LeafShape((), np.dtype(object)))
            continue
        shape = (size, *leaf.shape[1:]) if leaf.shape and leaf.shape[0] is None else leaf.shape
        if None in shape:
            return None
        shapes.append(LeafShape(cast("tuple[int, ...]", shape), leaf.dtype))
    return shapes


def _most_in_group(node: Grouping) -> int:
    """Return the number of elements in the largest group, which an epoch may have too few elements to fill."""
    return node.size if node.input.length < 0 else min(node.size, node.input.length)

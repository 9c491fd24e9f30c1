"""Examples in files into columns, natively: each record is read, checked and parsed in one pass, without a copy."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from penstock.core.arrays import Allocate, Rows
from penstock.kernels import _native
from penstock.kernels.example import ExampleKernel, FeatureKind
from penstock.kernels.records import RecordReader

MOST_SHARED = 1 << 16
"""Smallest size, in bytes, of features with separate memory; smaller features share memory, which lives as a whole."""
_INT32, _INT64 = np.dtype(np.int32), np.dtype(np.int64)
_NOWHERE = (-1, 0)


class Parsed(NamedTuple):
    """The values of each slot in some records, end to end, and their splits if sizes differ."""

    values: list[NDArray[Any]]
    splits: list[NDArray[Any] | None]


class ExampleFiles:
    """A parser of records of files for the slots of a kernel, none of them in lists; safe for any thread.

    Slots in `narrow` have splits of `int32`, others of `int64`.
    """

    def __init__(self, kernel: ExampleKernel, reader: RecordReader, narrow: Container[int] = ()) -> None:
        self._kernel = kernel
        self._splits = [_INT32 if i in narrow else _INT64 for i in range(len(kernel.slots))]
        self._native = _native.ExampleFiles(
            kernel.spec, reader.native, [slot.default for slot in kernel.slots], [slot.text for slot in kernel.slots]
        )
        self._layouts: dict[tuple[int, tuple[int, ...]], _Layout] = {}

    def parse(
        self, rows: Rows, allocate: Allocate = np.empty, out: Sequence[NDArray[Any] | None] | None = None
    ) -> Parsed | None:
        """Return the values of each slot in the records at `rows`, positions in [0, len) of the reader.

        `out` may hold, for a slot of fixed size, a flat array of its dtype; if there is room, the values are written
        to it.

        The result is `None` for any failure: a bad file, a bad record, or too little room. Reading and parsing
        separately then finds the error, and updates the kernel's estimate of room.
        """
        count = len(rows)
        slots = self._kernel.slots
        given = {i: a for i, a in enumerate(out or ()) if a is not None and len(a) >= count * slots[i].size}
        layout, blocks = self._layout(count, tuple(given)), list(given.values())
        blocks += [allocate((size,), dtype) for dtype, size in layout.blocks[len(blocks) :]]
        found = self._native.parse(rows, blocks, layout.places)
        if found is None:
            return None
        used, texts = found
        each = iter(texts)
        values = [
            _array_of(next(each)) if block < 0 else blocks[block][at : at + size]
            for (block, at), size in zip(layout.values, used, strict=True)
        ]
        splits = [None if block < 0 else blocks[block][part] for block, part in layout.splits]
        self._kernel.learn(used, count)
        return Parsed(values, splits)

    def _layout(self, count: int, given: tuple[int, ...]) -> _Layout:
        """Return the layout for this many records: made once, and again when the kernel has met larger records."""
        layout = self._layouts.get((count, given))
        if layout is None or layout.learnt != self._kernel.learnt:
            layout = _Layout(self._kernel, count, self._splits, given)
            # whole batches, and the last batch of an epoch, each with memory given and without
            others = {} if len(self._layouts) > 3 else self._layouts
            self._layouts = {**others, (count, given): layout}
        return layout


def _array_of(texts: list[Any]) -> NDArray[Any]:
    made = np.empty(len(texts), object)
    made[:] = texts
    return made


class _Layout:
    """The memory layout of `count` records: the blocks, and the part of a block for each slot.

    The first blocks are those of the slots with `given` memory. Other values of one kind share a block, unless large,
    so that a kept leaf keeps little else alive.
    """

    def __init__(
        self, kernel: ExampleKernel, count: int, splits: Sequence[np.dtype[Any]], given: tuple[int, ...]
    ) -> None:
        self.learnt = kernel.learnt
        self.blocks = [(kernel.slots[i].dtype, kernel.room(i, count)) for i in given]  # dtype and size
        self.values: list[tuple[int, int]] = []  # for each slot: the block, and the offset in it
        self.splits: list[tuple[int, slice]] = []
        self._shared: dict[tuple[np.dtype[Any], str], int] = {}
        places: list[int] = []
        for i, slot in enumerate(kernel.slots):
            room = kernel.room(i, count)
            if i in given:
                block, at = given.index(i), 0
            elif slot.kind == FeatureKind.BYTES:
                block, at = _NOWHERE
            else:
                block, at = self._place(slot.dtype, room, "fixed" * slot.fixed)
            beside, start = _NOWHERE if slot.fixed else self._place(splits[i], count + 1, "splits")
            self.values.append((block, at))
            self.splits.append((beside, slice(start, start + count + 1)))
            places += (block, at, room, beside, start)
        self.places = np.array(places, np.int64)

    def _place(self, dtype: np.dtype[Any], size: int, use: str) -> tuple[int, int]:
        """Return a place for this many values, in a block shared by values of one use, or in a separate block."""
        if size * dtype.itemsize >= MOST_SHARED:
            self.blocks.append((dtype, size))
            return len(self.blocks) - 1, 0
        block = self._shared.setdefault((dtype, use), len(self.blocks))
        if block == len(self.blocks):
            self.blocks.append((dtype, 0))
        at = self.blocks[block][1]
        self.blocks[block] = dtype, at + size
        return block, at

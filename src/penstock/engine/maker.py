"""Makes parcels: gives them memory, runs the program for a piece, and turns finished pieces into items."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any, cast

import numpy as np

from penstock.core.arrays import Rows
from penstock.elements.chunks.sharing import with_own_containers
from penstock.elements.chunks.stacking import Origin, Stack, joined
from penstock.elements.nested.structure import Structure, describe, flatten, paths
from penstock.elements.size import bytes_of, text_bytes_of
from penstock.elements.sparse import Sparse
from penstock.elements.spec import ArraySpec
from penstock.engine.advice import advised, advising
from penstock.engine.beside import Beside
from penstock.engine.compile import beginning
from penstock.engine.executors.remote import Shipment, run_shipped
from penstock.engine.job import Job
from penstock.engine.memory import Memory
from penstock.engine.parcel import Parcel
from penstock.engine.task import Listed, Meter, Stacked, make_listed, make_stacked
from penstock.kernels import SideThread
from penstock.plan.node import Node
from penstock.plan.types import Begin, Program, Single


@dataclass(frozen=True)
class LeafShape:
    """What one element takes in a batch's memory, and `beside` it: rows that have no place there, and texts."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    beside: int = 0

    @property
    def nbytes(self) -> int:
        """Bytes of the leaf in one element."""
        return prod(self.shape) * self.dtype.itemsize + self.beside


class Maker:
    """Makes parcels of a job's items. `make` may be called from any thread, the rest from the consumer's.

    The shapes that decide a batch's memory come from the plan where it knows them, else from the batch before.
    """

    def __init__(self, job: Job, program: Program, single: Single | None, memory: Memory) -> None:
        self.job = job
        self.memory = memory
        self._program = program
        self._single = single if job.batch is None else None
        self.advise = advising(job.source)
        self._meter = Meter()
        self.item_bytes = 0
        """Bytes of one item: of a batch's memory, or of an element's leaves, as the last was; 0 before the first."""
        self._rows = 0  # of the parcel before
        self._shapes: list[LeafShape] | None = None
        self._know(_static_shapes(job))

    def begin(self, low: int, high: int, rows: Rows, pieces: int) -> Parcel:
        """A parcel of items `low` to `high`, which are made of `rows`, with memory but nothing made yet."""
        parcel = Parcel(low, high, rows, max(min(pieces, len(rows)), 1))
        if self._shapes is not None:
            parcel.memory = [self._memory_of(leaf, len(rows), last=high >= self.job.items) for leaf in self._shapes]
        self._rows = len(rows)
        parcel.nbytes = self.item_bytes * (high - low)
        return parcel

    def _memory_of(self, leaf: LeafShape, rows: int, *, last: bool) -> np.ndarray:
        """Memory for so many rows; for the `last` of an epoch part of as much as before, so that one size is used."""
        count = max(rows, self._rows) if last else rows
        return self.memory.allocate((count, *leaf.shape), leaf.dtype)[:rows]

    def _know(self, shapes: list[LeafShape] | None) -> None:
        if shapes is not None and shapes != self._shapes:
            self._shapes = shapes
            self.item_bytes = self.job.size * sum(leaf.nbytes for leaf in shapes)

    @property
    def needs_no_gil(self) -> bool:
        """Whether batches may be made beside the consumer by native code alone."""
        return self._beginning is not None

    def begin_beside(self, low: int, high: int, rows: Rows) -> Beside | None:
        """Begin to make the batches `low` to `high`, which are made of `rows`, beside the caller, where that can be."""
        if self._beginning is None:
            return None
        size = len(rows) // (high - low)
        batch_bytes = self.item_bytes * size // self.job.size
        join = self.job.completing(self._structure, size, self.memory.allocate)
        batches = self._beginning(rows, size, join, self.memory.pool, self._side)
        return None if batches is None else Beside(low, high - low, batches, size, batch_bytes)

    def make(self, parcel: Parcel, piece: int) -> Stacked | Listed:
        """Run the program for one piece."""
        rows, program, meter = parcel.rows[piece], self._program, self._meter
        if piece == 0 and parcel.soon is not None:
            program = advised(program, self.advise, parcel.soon)
        elif self._single is not None and len(rows) == 1:
            element, took = meter.measure(self._single, rows.item())
            return Listed(with_own_containers([element]), took)
        if self.job.batch is None:
            return make_listed(program, rows, meter)
        allocate, memory = self.memory.allocate, parcel.memory_of(piece)
        return make_stacked(program, rows, memory, allocate, meter, batches=parcel.items)

    def fill(self, parcel: Parcel) -> Parcel:
        """Make the pieces of a parcel that are not made yet, here, up to one that fails."""
        for piece, result in enumerate(parcel.results):
            if result is None and not parcel.fails:
                self.fill_piece(parcel, piece)
        return parcel

    def again(self, parcel: Parcel) -> Parcel:
        """The items of a parcel made once more, here and in one piece."""
        return self.fill(self.begin(parcel.low, parcel.high, np.concatenate(parcel.rows), 1))

    def fill_piece(self, parcel: Parcel, piece: int) -> None:
        """Make one piece of a parcel here; an exception is kept in its place, for the consumer's turn for it."""
        try:
            parcel.fill(piece, self.make(parcel, piece))
        except Exception as error:  # noqa: BLE001 - raised when it is the consumer's turn for it
            parcel.fill(piece, error)

    def close(self) -> None:
        """Let go of the thread beside the consumer, if there was one."""
        self.__dict__.pop("_side", None)

    @cached_property
    def _beginning(self) -> Begin | None:
        return None if self.job.batch is None else beginning(self.job.source)

    @cached_property
    def _side(self) -> SideThread:
        return SideThread()

    @cached_property
    def _structure(self) -> Structure:
        return flatten(self.job.source.spec())[1]

    @property
    def source(self) -> Node:
        """The node whose rows are made."""
        return self.job.source

    def errand(self, shipment: Shipment, parcel: Parcel, piece: int) -> tuple[Any, ...]:
        """What another process is to call to make one piece."""
        soon = parcel.soon if piece == 0 else None
        return run_shipped, shipment, parcel.rows[piece], parcel.items if self.job.batch else 0, soon

    def items(self, parcel: Parcel) -> list[Any]:
        """The items of a parcel whose pieces are all made."""
        if self.job.batch is None:
            made: list[Any] = parcel.results
            elements = [element for piece in made for element in piece.elements]
            self.item_bytes = bytes_of(elements[0]) if elements else 0
            return elements
        pieces = cast("list[Stacked]", parcel.results)
        arrays = self._joined(parcel, pieces)
        self._know(list(map(_shape_of, arrays)))
        size = sum(map(len, parcel.rows)) // parcel.items  # of each batch: perhaps all of them are short
        return self.job.delivered(pieces[0].structure, arrays, size, parcel.items, self.memory.allocate)

    def _joined(self, parcel: Parcel, pieces: list[Stacked]) -> list[Stack]:
        """The arrays of all pieces end to end: the parcel's memory itself, where every piece was written there."""
        if parcel.memory is not None and all(piece.in_place for piece in pieces):
            return list(parcel.memory)
        if len(pieces) == 1:
            return pieces[0].arrays
        for piece, rows in zip(pieces, parcel.rows, strict=True):
            _check_fit(pieces[0], piece, int(parcel.rows[0][0]), int(rows[0]))
        allocate = self.memory.allocate
        return [joined(parts, allocate) for parts in zip(*(piece.arrays for piece in pieces), strict=True)]


def _shape_of(array: Stack) -> LeafShape:
    """What one of the values takes; a place for `Ragged` or `Sparse` rows is found when they are there."""
    if isinstance(array, np.ndarray):
        texts = text_bytes_of(array) * prod(array.shape[1:]) if array.dtype.hasobject else 0
        return LeafShape(array.shape[1:], array.dtype, texts)
    return LeafShape((), np.dtype(object), beside=array.nbytes // max(len(array), 1))


def _static_shapes(job: Job) -> list[LeafShape] | None:
    spec = job.source.spec() if job.batch is not None else None
    if spec is None:
        return None
    leaves, _ = flatten(spec)
    shapes: list[LeafShape] = []
    for leaf in leaves:
        if not isinstance(leaf, ArraySpec):
            shapes.append(LeafShape((), np.dtype(object)))
        elif None in leaf.shape:
            return None
        else:
            shapes.append(LeafShape(cast("tuple[int, ...]", leaf.shape), leaf.dtype))
    return shapes


def _check_fit(first: Stacked, other: Stacked, first_row: int, other_row: int) -> None:
    origin = Origin(rows=np.array([first_row, other_row]))
    between = f"{origin.name(0, 1)} differ"
    if first.structure != other.structure:
        problem = f"{between} in structure: {describe(first.structure)} against {describe(other.structure)}"
        raise origin.misfit(problem, 0, 1)
    structure: Structure = first.structure
    for one, two, path in zip(first.arrays, other.arrays, paths(structure), strict=True):
        at = f" at {path}" if path else ""
        if one.dtype != two.dtype:
            problem = f"{between}{at}: dtype {one.dtype} against {two.dtype}; return the same dtype for every row"
            raise origin.misfit(problem, 0, 1)
        grows = isinstance(one, Sparse) and one.ndim == two.ndim
        if one.shape[1:] != two.shape[1:] and not grows:
            shapes = f"shape {one.shape[1:]} against {two.shape[1:]}"
            raise origin.misfit(f"{between}{at}: {shapes}; crop, resize or pad them to one shape", 0, 1)

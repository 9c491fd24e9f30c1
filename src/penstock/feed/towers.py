"""Placements made of others: several devices in one process, several batches in one transfer, parts of a batch."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from penstock.core.arrays import Reserve
from penstock.core.errors import ElementError
from penstock.elements.nested.structure import flatten, paths, unflatten
from penstock.elements.ragged import Ragged
from penstock.elements.sparse import Sparse
from penstock.feed.clock import Clock
from penstock.feed.parcel import is_numeric
from penstock.feed.protocol import Placement
from penstock.memory.pool import in_one_block


class Towers:
    """Several placements side by side: a step is a list with the batch of each."""

    gathers = 1

    def __init__(self, placements: Sequence[Placement]) -> None:
        self._placements = placements
        self.allocate: Reserve | None = placements[0].allocate
        self.clock: Clock | None = placements[0].clock

    def place(self, batches: list[Any]) -> Any:
        raise NotImplementedError

    def wait(self, placed: list[tuple[Placement, Any]]) -> list[Any]:
        return [placement.wait(each) for placement, each in placed]

    def release(self, placed: list[tuple[Placement, Any]]) -> None:
        for placement, each in placed:
            placement.release(each)


class Split(Towers):
    """Cut one batch, or one stack of batches, and place a part with each placement."""

    def place(self, batches: list[Any]) -> list[tuple[Placement, Any]]:
        (batch,) = batches
        parts = cut_rows(batch, len(self._placements), "split=True")
        return [(placement, placement.place([part])) for placement, part in zip(self._placements, parts, strict=True)]


class RoundRobin(Towers):
    """Place one batch with each placement; the last step of an epoch may have fewer."""

    def __init__(self, placements: Sequence[Placement]) -> None:
        super().__init__(placements)
        self.gathers = sum(placement.gathers for placement in placements)

    def place(self, batches: list[Any]) -> list[tuple[Placement, Any]]:
        placed: list[tuple[Placement, Any]] = []
        for placement in self._placements:
            taken, batches = batches[: placement.gathers], batches[placement.gathers :]
            if taken:
                placed.append((placement, placement.place(taken)))
        return placed


class Stacked:
    """Place `steps` batches in one transfer, stacked along a new first axis; the last stack may be shorter."""

    def __init__(self, placement: Placement, steps: int) -> None:
        self._placement = placement
        self.gathers = steps
        self.allocate, self.clock = placement.allocate, placement.clock

    def place(self, batches: list[Any]) -> Any:
        return self._placement.place([stack_of(batches, self.allocate)])

    def wait(self, placed: Any) -> Any:
        return self._placement.wait(placed)

    def release(self, placed: Any) -> None:
        self._placement.release(placed)


class MicroBatches:
    """Cut a batch into a list of `count` parts, and place them in one transfer."""

    def __init__(self, placement: Placement, count: int) -> None:
        self._placement = placement
        self._count = count
        self.gathers, self.allocate, self.clock = placement.gathers, placement.allocate, placement.clock

    def place(self, batches: list[Any]) -> Any:
        (batch,) = batches
        return self._placement.place([cut_rows(batch, self._count, f"micro_batches={self._count}")])

    def wait(self, placed: Any) -> list[Any]:
        return self._placement.wait(placed)

    def release(self, placed: Any) -> None:
        self._placement.release(placed)


def cut_rows(batch: Any, count: int, asked: str) -> list[Any]:
    """Return `count` parts of a batch, which differ by at most one row; leaves without rows are in every part.

    A batch with fewer rows raises an `ElementError`, and so do leaves with different numbers of rows. Errors name the
    argument that `asked` for parts.

    >>> cut_rows({"x": np.arange(5), "n": 1}, 2, "split=True")
    [{'x': array([0, 1, 2]), 'n': 1}, {'x': array([3, 4]), 'n': 1}]
    """
    leaves, structure = flatten(batch)
    lengths = [_rows_of(leaf) for leaf in leaves]
    known = {length for length in lengths if length is not None}
    if len(known) > 1:
        named = zip(paths(structure), lengths, strict=True)
        told = ", ".join(f"{path} has {length:,}" for path, length in named if length is not None)
        raise ElementError(f"{asked} cuts a batch into {count} parts if its leaves have equally many rows, but {told}")
    if not known:
        raise ElementError(f"{asked} cuts batches, but the elements have no rows: make batches first, with batch()")
    rows = known.pop()
    if rows < count:
        raise ElementError(too_few_rows(asked, "the batch has", rows, count))
    ends = list(accumulate((rows // count + (part < rows % count) for part in range(count)), initial=0))
    return [
        unflatten(
            structure, [leaf if own is None else leaf[low:high] for leaf, own in zip(leaves, lengths, strict=True)]
        )
        for low, high in pairwise(ends)
    ]


def too_few_rows(asked: str, whose: str, rows: int, count: int) -> str:
    """Return the message about a batch with fewer rows than parts."""
    return (
        f"{asked} cuts batches into {count} parts, but {whose} {rows:,} row{'s' * (rows != 1)}: use larger batches, "
        "and leave out a shorter last one with batch(..., drop_remainder=True)"
    )


def _rows_of(leaf: Any) -> int | None:
    shape: tuple[Any, ...] = getattr(leaf, "shape", ())
    return int(shape[0]) if len(shape) else None


def stack_of(batches: list[Any], reserve: Reserve | None) -> Any:
    """Return the batches stacked along a new first axis, in one block from `reserve` if given.

    Leaves that are not numbers become lists. Batches of other shapes or another structure raise an `ElementError`.

    >>> stack_of([{"x": np.arange(2), "s": "a"}, {"x": np.arange(2), "s": "b"}], None)
    {'x': array([[0, 1], [0, 1]]), 's': ['a', 'b']}
    """
    taken = [flatten(batch) for batch in batches]
    structure = taken[0][1]
    if any(other != structure for _, other in taken):
        raise ElementError(
            f"steps={len(batches)} stacks batches of one structure, but one is {structure} and one is not"
        )
    columns = list(zip(*(leaves for leaves, _ in taken), strict=True))
    kinds = [_stacked_kind(column, path) for column, path in zip(columns, paths(structure), strict=True)]
    wanted = [kind for kind in kinds if kind is not None]
    if reserve is None:
        memory = iter([np.empty(shape, dtype) for shape, dtype in wanted])
    else:
        memory = iter(in_one_block(reserve)(wanted))
    stacked: list[Any] = []
    for column, kind in zip(columns, kinds, strict=True):
        stacked.append(list(column) if kind is None else np.stack(column, out=next(memory)))
    return unflatten(structure, stacked)


def _stacked_kind(column: tuple[Any, ...], path: str) -> tuple[tuple[int, ...], np.dtype[Any]] | None:
    where = path or "the batch"
    if any(isinstance(leaf, Ragged | Sparse) for leaf in column):
        raise ElementError(
            f"steps={len(column)} cannot stack {where}, which is ragged or sparse: pad it, or use steps=1"
        )
    if not is_numeric(column[0]):
        return None
    kinds = dict.fromkeys((np.shape(leaf), np.asarray(leaf).dtype) for leaf in column)
    if len(kinds) > 1:
        told = " and ".join(f"{dtype}{list(shape)}" for shape, dtype in kinds)
        if len({dtype for _, dtype in kinds}) > 1:
            remedy = "return the same dtype for every row"
        else:
            remedy = "leave out a short last batch with batch(..., drop_remainder=True), or pad"
        raise ElementError(
            f"steps={len(column)} stacks batches of one shape and dtype, but {where} is {told}: {remedy}"
        )
    ((shape, dtype),) = kinds
    return (len(column), *shape), dtype

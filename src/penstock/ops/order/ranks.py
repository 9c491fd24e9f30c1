"""The parts of global batches: whole batches, whose rows are divided among ranks."""

from __future__ import annotations

from dataclasses import field, replace
from typing import Any, cast

import numpy as np

from penstock.core.arrays import Allocate, Rows
from penstock.core.cached import cached_property
from penstock.core.frozen import frozen
from penstock.index.parted import part_size, positions_of, rows_of_part
from penstock.ops.group.pad import PadToCardinality
from penstock.plan.flow import Flow, Mark, Open, Piece, Reader, empty_piece, join_pieces, resumed
from penstock.plan.node import Node, RowMap
from penstock.plan.traits import Traits
from penstock.plan.types import INFINITE, UNKNOWN


@frozen()
class WholeBatches(RowMap):
    """Make an epoch consist of full batches of `size` elements, as `remainder` says.

    "drop" drops the elements after the last full batch, "wrap" adds the first elements of the epoch up to the next full
    batch, and "uneven" leaves the elements as they are. An empty epoch remains empty. The epoch ends after `most`
    batches unless that is -1.
    """

    size: int
    remainder: str
    most: int = -1

    @property
    def name(self) -> str:
        return "whole_batches"

    @property
    def internal(self) -> bool:
        return True

    @cached_property
    def length(self) -> int:
        length = self.input.length
        if length >= 0 and self.remainder != "uneven":
            length = _multiple(length, self.size, up=self.remainder == "wrap")
        return _at_most(length, self.size, self.most)

    def rows_of(self, rows: Rows) -> Rows:
        own, below = self.stride, self.input.stride
        if own == below:
            return rows
        epochs, positions = np.divmod(rows, own)
        return epochs * below + positions % below

    def flow(self, inputs: tuple[Open, ...], epoch: int, mark: Mark, allocate: Allocate) -> Flow:
        seen, at = resumed(mark, (0, None))
        with Reader(inputs[0], epoch, at) as reader:
            while seen != self.most and reader.ready(self.size):
                if reader.take_passed_empty():
                    yield empty_piece([seen, reader.mark])
                run = cast("Piece", reader.take(self.size))
                missing = self.size - len(run)
                if missing and self.remainder == "drop":
                    return
                after = reader.mark
                fills = missing and self.remainder == "wrap"
                full = join_pieces([run, *self._first(inputs[0], epoch, missing)]) if fills else run
                seen += 1
                yield Piece(full.chunk, full.ids, [seen, after])

    def _first(self, source: Open, epoch: int, count: int) -> list[Piece]:
        """Return the first elements of the epoch, again from the first if there are fewer than `count`."""
        parts: list[Piece] = []
        while count:
            with Reader(source, epoch) as reader:
                part = reader.take(count)
            if part is None:
                raise RuntimeError(f"{self.label()}: the input has no elements when it is read again")
            parts.append(part)
            count -= len(part)
        return parts

    def arguments(self) -> str:
        most = "" if self.most < 0 else f", most={self.most}"
        return f'{self.size}, remainder="{self.remainder}"{most}'


@frozen()
class PadToMultiple(PadToCardinality):
    """Append elements of zeros up to a multiple of `count` elements; a flag marks the real elements.

    Unless it `fills`, the elements after the last multiple are dropped. The epoch ends after `most` multiples unless
    that is -1.
    """

    kind = "PadToMultiple"

    most: int = -1
    fills: bool = field(default=True, metadata={"runs": True})

    @property
    def name(self) -> str:
        return "whole_batches"

    @property
    def internal(self) -> bool:
        return True

    @cached_property
    def length(self) -> int:
        length = self.input.length
        return _at_most(length if length < 0 else _multiple(length, self.count, up=True), self.count, self.most)

    def flow(self, inputs: tuple[Open, ...], epoch: int, mark: Mark, allocate: Allocate) -> Flow:
        seen, at = resumed(mark, (0, None))
        with Reader(inputs[0], epoch, at) as reader:
            while seen != self.most and reader.ready(self.count):
                if reader.take_passed_empty():
                    yield empty_piece([seen, reader.mark])
                run = cast("Piece", reader.take(self.count))
                seen += 1
                if len(run) < self.count and not self.fills:
                    return
                yield self._padded(run, self.count - len(run), [seen, reader.mark])

    def arguments(self) -> str:
        mask = [] if self.mask_key == "valid" else [f"mask_key={self.mask_key!r}"]
        most = [] if self.most < 0 else [f"most={self.most}"]
        return ", ".join([str(self.count), 'remainder="pad"', *mask, *most])


@frozen()
class RankRows(RowMap):
    """Keep the rows of one rank of each run of `batch` elements.

    These are consecutive rows, or every `world`-th (`strided`). Neither the rank, nor the number of ranks, nor the
    `group` through which ranks agree counts in fingerprints and marks.
    """

    traits = Traits(of_rank=True)
    keeps_order = True

    batch: int
    strided: bool
    rank: int = field(default=0, metadata={"runs": True})
    world: int = field(default=1, metadata={"runs": True})
    group: Any = field(default=None, repr=False, compare=False, metadata={"runs": True})

    @property
    def name(self) -> str:
        return "shard_by_rank"

    @property
    def identified(self) -> Node:
        """The node of the only rank of one."""
        return replace(self, rank=0, world=1, group=None) if self.world > 1 or self.group is not None else self

    @property
    def size(self) -> int:
        """The number of rows of a full batch that the rank has."""
        return part_size(self.batch, self.rank, self.world)

    @cached_property
    def length(self) -> int:
        if self.input.length < 0:
            return self.input.length
        full, rest = divmod(self.input.length, self.batch)
        return full * self.size + part_size(rest, self.rank, self.world)

    def rows_of(self, rows: Rows) -> Rows:
        if self.world == 1:
            return rows
        return rows_of_part(
            rows,
            batch=self.batch,
            length=self.stride,
            input_stride=self.input.stride,
            rank=self.rank,
            world=self.world,
            strided=self.strided,
        )

    def flow(self, inputs: tuple[Open, ...], epoch: int, mark: Mark, allocate: Allocate) -> Flow:
        seen, at = resumed(mark, (0, None))
        with Reader(inputs[0], epoch, at) as reader:
            while reader.ready(self.batch):
                if reader.take_passed_empty():
                    yield empty_piece([seen, reader.mark])
                run = cast("Piece", reader.take(self.batch))
                own = run.select(positions_of(len(run), self.rank, self.world, strided=self.strided))
                seen += 1
                yield Piece(own.chunk, own.ids, [seen, reader.mark])

    def arguments(self) -> str:
        return f"{self.rank} of {self.world}, batch={self.batch}"


def _at_most(length: int, size: int, most: int) -> int:
    """Return the length of `most` runs of `size` elements, if there are that many; -1 stands for all."""
    if most < 0 or length == UNKNOWN:
        return length
    return size * most if length == INFINITE else min(length, size * most)


def _multiple(count: int, size: int, *, up: bool) -> int:
    """Return the multiple of `size` nearest to a count, above or below it."""
    return -(-count // size) * size if up else count // size * size

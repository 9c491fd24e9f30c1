"""The shared parts of nodes that batch consecutive elements: rows, and making batches of rows and streams."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple, cast

import numpy as np

from penstock.core.arrays import Allocate, Rows
from penstock.core.blame import blames_of
from penstock.core.cached import cached_property
from penstock.core.frozen import frozen
from penstock.elements.chunks.chunk import Chunk, Items
from penstock.elements.size import bytes_of
from penstock.kernels import group_rows, group_sizes
from penstock.ops.group.batching import Batching
from penstock.ops.group.in_slot import InSlot, OptionalSlot
from penstock.plan.blame import blame
from penstock.plan.flow import Flow, Mark, Open, Piece, Reader, empty_piece, join_pieces, resumed
from penstock.plan.ids import ordinals
from penstock.plan.node import Node
from penstock.plan.step import Step
from penstock.plan.traits import Traits
from penstock.plan.types import INFINITE, UNKNOWN

MOST_IN_ONE_GO = 64  # groups of a stream
BYTES_IN_ONE_GO = 1 << 20


class Groups(NamedTuple):
    """Groups of consecutive elements: group `numbers[i]` of `counts[i]` elements of `chunk`, one after another.

    The elements are `rows` of the input.
    """

    numbers: Rows
    chunk: Chunk
    rows: Rows
    counts: np.ndarray


@frozen()
class Collecting(Batching):
    """Collect consecutive elements; `Batching` decides on the last group of an epoch, if it has too few.

    A subclass says which elements are in a group, and makes one element of a group (`collect`), for indexed input and
    streams alike.
    """

    traits = Traits(ids="counted")

    input: Node

    def size_of(self, number: int) -> int:
        """Return the number of elements of a group of an epoch, if there are enough."""
        raise NotImplementedError

    def first_of(self, number: int) -> int:
        """Return the number of elements in all groups of an epoch before this one."""
        raise NotImplementedError

    def grouped(self, rows: Rows) -> tuple[Rows, np.ndarray]:
        """Return the input's rows of all groups, one group after another, and the number of rows of each."""
        raise NotImplementedError

    def counts(self, rows: Rows) -> np.ndarray:
        """Return the number of elements in each group."""
        return self.grouped(rows)[1]

    def collect(self, chunk: Chunk, rows: Rows, allocate: Allocate) -> Any:
        """Return one element made of the run of elements `chunk`, which are `rows` of the input."""
        raise NotImplementedError

    def collect_all(self, groups: Groups, out: OptionalSlot, allocate: Allocate) -> Chunk:
        """Return the groups, written into `out` where they fit: an array of shape (groups, ...) for each leaf."""
        made: list[Any] = []
        slot = None if out is None else InSlot(out, len(groups.numbers), allocate)
        for number, (low, high) in zip(groups.numbers.tolist(), spans(groups.counts), strict=True):
            own = allocate if slot is None else slot.next(None if self.pads else high - low)
            made.append(self.collect_one(groups.chunk.slice(low, high), groups.rows[low:high], number, own))
        return Items(made) if slot is None else slot.whole(made)

    def collect_one(self, chunk: Chunk, rows: Rows, number: int, allocate: Allocate, ids: Rows | None = None) -> Any:
        """Return the group of all elements of `chunk`, which are `rows` of the input, padded if that is the policy.

        In a stream the elements have these `ids`.
        """
        try:
            return self.completed(self.collect(chunk, rows, allocate), len(chunk), self.size_of(number), allocate)
        except Exception as error:
            if not blames_of(error):  # otherwise an input has added more
                named = None if ids is None else dict(zip(rows.tolist(), ids.tolist(), strict=True))
                blame(error, self, number, ids=named)
            raise

    def takes_views(self, chunk: Chunk | None) -> bool:
        """Return True if groups of these elements are views and need no memory."""
        return False

    def route(self, rows: Rows) -> tuple[Rows, ...]:
        return (self.grouped(rows)[0],)

    def as_step(self, allocate: Allocate) -> Step | None:
        def change(chunk: Chunk, rows: Rows, its_rows: Rows, out: OptionalSlot) -> Chunk:
            return self.collect_all(Groups(rows, chunk, its_rows, self.counts(rows)), out, allocate)

        return Step(lambda rows: self.grouped(rows)[0], change, self.memory_below, regroups=True)

    @property
    def memory_below(self) -> Callable[[OptionalSlot, Rows, Rows], OptionalSlot] | None:
        """Return the memory of the input, inside that of the groups, if any, if elements are written there directly."""
        return None

    def flow(self, inputs: tuple[Open, ...], epoch: int, mark: Mark, allocate: Allocate) -> Flow:
        made, at = resumed(mark, (0, None))
        most = 1  # groups made in one go, if their elements are ready
        with Reader(inputs[0], epoch, at) as reader:
            while reader.ready(self.size_of(made)):
                if reader.take_passed_empty():
                    yield empty_piece([made, reader.mark])
                before, start = reader.mark
                sizes = self._ready(made, reader.at_hand, MOST_IN_ONE_GO if self.takes_views(reader.chunk) else most)
                run = cast("Piece", reader.take(sum(sizes)))
                if len(run) < sizes[0]:
                    if self.drop_remainder:
                        return
                    sizes = [len(run)]
                elif len(sizes) == 1 and most == MOST_IN_ONE_GO and not reader.passed_empty:
                    # a small one, which may begin in the piece before: it is made with those after it
                    sizes = self._ready(made, len(run) + reader.at_hand, most)
                    if len(sizes) > 1:
                        run = join_pieces([run, cast("Piece", reader.take(sum(sizes[1:])))])
                first = self.first_of(made)  # as errors name them
                rows = np.arange(first, first + len(run), dtype=np.int64)
                several = self._several(run, rows, made, sizes, allocate) if len(sizes) > 1 else None
                if several is not None:
                    made += len(sizes)
                    yield Piece(several, ordinals(epoch, made - len(sizes), len(sizes)), [made, reader.mark])
                    continue
                whole, high = len(run), 0
                for size in sizes:
                    low, high = high, high + size
                    chunk, ids = run.chunk.slice(low, high), run.ids[low:high]
                    group = self.collect_one(chunk, rows[low:high], made, allocate, ids)
                    made += 1
                    most = max(1, min(MOST_IN_ONE_GO, BYTES_IN_ONE_GO // bytes_of(group)))
                    after = [before, start + high]
                    if high >= whole:
                        after, run = reader.mark, empty_piece(None)  # no elements are held while the batch is used
                    piece = Piece(Items([group]), ordinals(epoch, made - 1, 1), [made, after])
                    del chunk, group
                    yield piece
                    del piece

    def _ready(self, made: int, at_hand: int, most: int) -> list[int]:
        """Return the sizes of the next groups whose elements are all at hand, up to `most`; of one at least."""
        sizes = [self.size_of(made)]
        left = at_hand - sizes[0]
        while len(sizes) < most and (size := self.size_of(made + len(sizes))) <= left:
            sizes.append(size)
            left -= size
        return sizes

    def _several(self, run: Piece, rows: Rows, made: int, sizes: list[int], allocate: Allocate) -> Chunk | None:
        """Return all groups of a run, which are full; `None` if one is at fault: making each alone will show which."""
        numbers = np.arange(made, made + len(sizes), dtype=np.int64)
        with suppress(Exception):
            return self.collect_all(Groups(numbers, run.chunk, rows, np.array(sizes)), None, allocate)
        return None


@frozen()
class Grouping(Collecting):
    """Collect `size` consecutive elements."""

    size: int

    @property
    def identified(self) -> Node:
        """The global batch, if the input is the rows of a rank."""
        rows: Any = self.input
        return replace(self, size=rows.batch) if rows.traits.of_rank and self.size == rows.size != rows.batch else self

    @cached_property
    def length(self) -> int:
        if self.input.length < 0:
            return self.input.length
        whole, rest = divmod(self.input.length, self.size)
        return whole + (rest > 0 and not self.drop_remainder)

    @property
    def all_full(self) -> bool:
        """True if every group has `size` elements of the input."""
        if self.drop_remainder or self.input.length == INFINITE:
            return True
        return self.input.length != UNKNOWN and self.input.length % self.size == 0

    @property
    def static_size(self) -> int | None:
        """The number of elements of every batch, padding included; `None` if the last one may have fewer."""
        return self.size if self.all_full or self.pads else None

    def size_of(self, number: int) -> int:
        return self.size

    def first_of(self, number: int) -> int:
        return number * self.size

    def grouped(self, rows: Rows) -> tuple[Rows, np.ndarray]:
        return group_rows(rows, self.size, self.stride, self.input.stride, self.input.stride)

    def _ready(self, made: int, at_hand: int, most: int) -> list[int]:
        return [self.size] * max(min(at_hand // self.size, most), 1)

    def counts(self, rows: Rows) -> np.ndarray:
        return group_sizes(rows, self.size, self.stride, self.input.stride, self.input.stride)

    def arguments(self) -> str:
        return ", ".join([str(self.size), *self.policy()])


def spans(counts: np.ndarray) -> zip[tuple[int, int]]:
    """Return the start and end of each group of these sizes, one group after another."""
    ends = np.cumsum(counts).tolist()
    return zip([0, *ends], ends, strict=False)

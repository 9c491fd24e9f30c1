"""What nodes that make batches of consecutive elements have in common: lengths, rows, and one batch at a time."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np

from penstock.core.blame import blames_of
from penstock.elements.chunk import Chunk, Items
from penstock.elements.size import bytes_of
from penstock.index.grouped import grouped
from penstock.ops.group.batching import Batching
from penstock.plan.blame import blame
from penstock.plan.flow import Flow, Mark, Open, Piece, Reader, ordinals, resumed
from penstock.plan.node import INFINITE, UNKNOWN, Allocate, Node, Program, Rows

MOST_IN_ONE_GO = 64  # groups of a stream
BYTES_IN_ONE_GO = 1 << 20


@dataclass(frozen=True)
class Grouping(Batching):
    """Collect `size` consecutive elements; of the last group of an epoch, which is shorter, comes what `Batching` says.

    A subclass says how one group becomes one element (`collect`), which serves indexed input and streams alike.
    """

    has_own_ids = True

    input: Node
    size: int

    @cached_property
    def length(self) -> int:
        if self.input.length < 0:
            return self.input.length
        whole, rest = divmod(self.input.length, self.size)
        return whole + (rest > 0 and not self.drop_remainder)

    @property
    def all_full(self) -> bool:
        """Whether every group has `size` elements of the input."""
        if self.drop_remainder or self.input.length == INFINITE:
            return True
        return self.input.length != UNKNOWN and self.input.length % self.size == 0

    @property
    def static_size(self) -> int | None:
        """How many elements every batch has, filled up perhaps; `None` where the last one may have fewer."""
        return self.size if self.all_full or self.pads else None

    def collect(self, chunk: Chunk, rows: Rows, allocate: Allocate) -> Any:
        """One element from the run of elements `chunk`, which are `rows` of the input."""
        raise NotImplementedError

    def _whole(self, chunk: Chunk, rows: Rows, allocate: Allocate) -> Any:
        return self.completed(self.collect(chunk, rows, allocate), len(chunk), self.size, allocate)

    def takes_views(self, chunk: Chunk | None) -> bool:
        """Whether groups of these elements take no memory of their own."""
        return False

    def grouped(self, rows: Rows) -> tuple[Rows, np.ndarray]:
        """The input's rows of all the groups, one group after another, and how many each has."""
        return grouped(
            rows, size=self.size, batches=self.stride, length=self.input.stride, input_stride=self.input.stride
        )

    def route(self, rows: Rows) -> tuple[Rows, ...]:
        return (self.grouped(rows)[0],)

    def program(self, inputs: tuple[Program, ...], allocate: Allocate) -> Program:
        (source,) = inputs

        def run(rows: Rows, out: list[np.ndarray] | None = None) -> Chunk:
            its_rows, counts = self.grouped(rows)
            return self.one_by_one(source(its_rows), its_rows, counts, rows, allocate)

        return run

    def one_by_one(self, chunk: Chunk, its_rows: Rows, counts: np.ndarray, rows: Rows, allocate: Allocate) -> Items:
        """The groups `rows`, each collected by itself from `counts[i]` elements of `chunk`, which are `its_rows`."""
        made: list[Any] = []
        try:
            for low, high in spans(counts):
                made.append(self._whole(chunk.slice(low, high), its_rows[low:high], allocate))
        except Exception as error:
            if not blames_of(error):  # else an input has said more
                blame(error, self, int(rows[len(made)]))
            raise
        return Items(made)

    def collect_several(self, chunk: Chunk, rows: Rows, allocate: Allocate) -> Chunk:
        """The elements of some whole groups that follow one another in `chunk`."""
        starts = range(0, len(chunk), self.size)
        return Items(
            [self._whole(chunk.slice(at, at + self.size), rows[at : at + self.size], allocate) for at in starts]
        )

    def flow(self, inputs: tuple[Open, ...], epoch: int, mark: Mark, allocate: Allocate) -> Flow:
        made, at = resumed(mark, (0, None))
        most = 1  # groups made in one go, where their elements are at hand
        with Reader(inputs[0], epoch, at) as reader:
            while reader.ready(self.size):
                before, start = reader.mark
                count = min(reader.at_hand // self.size, MOST_IN_ONE_GO if self.takes_views(reader.chunk) else most)
                run = cast("Piece", reader.take(max(count, 1) * self.size))
                if len(run) < self.size and self.drop_remainder:
                    return
                rows = np.arange(made * self.size, made * self.size + len(run), dtype=np.int64)  # as errors name them
                several = self._collected_several(run, rows, allocate) if count > 1 else None
                if several is not None:
                    made += count
                    yield Piece(several, ordinals(epoch, made - count, count), [made, reader.mark])
                    continue
                for low in range(0, len(run), self.size):
                    chunk = Items([self._collected(run, low, rows, allocate)])
                    made += 1
                    high = low + self.size
                    after = reader.mark if high >= len(run) else [before, start + high]
                    yield Piece(chunk, ordinals(epoch, made - 1, 1), [made, after])
                    most = max(1, min(MOST_IN_ONE_GO, BYTES_IN_ONE_GO // bytes_of(chunk.element(0))))

    def _collected_several(self, run: Piece, rows: Rows, allocate: Allocate) -> Chunk | None:
        """The elements of all groups of a run; `None` where one is at fault, which making each alone will show."""
        with suppress(Exception):
            return self.collect_several(run.chunk, rows, allocate)
        return None

    def _collected(self, run: Piece, low: int, rows: Rows, allocate: Allocate) -> Any:
        high = low + self.size
        try:
            return self._whole(run.chunk.slice(low, high), rows[low:high], allocate)
        except Exception as error:
            ids = dict(zip(rows.tolist(), run.ids.tolist(), strict=True))
            blame(error, self, int(rows[low]) // self.size, ids=ids)
            raise

    def arguments(self) -> str:
        return ", ".join([str(self.size), *self.policy()])


def spans(counts: np.ndarray) -> zip[tuple[int, int]]:
    """Where each group of so many elements begins and ends, one after another."""
    ends = np.cumsum(counts).tolist()
    return zip([0, *ends], ends, strict=False)

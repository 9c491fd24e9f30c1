"""Permute the elements of a stream in a buffer of so many bytes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.core.seeds import mix
from penstock.elements.size import sizes_of
from penstock.ops.order.lanes import mixed
from penstock.ops.order.shuffle import Shuffle
from penstock.plan.flow import Flow, Mark, Open, Piece, Reader, joined, resumed
from penstock.plan.node import Allocate


@dataclass(frozen=True)
class ShuffleBytes(Shuffle):
    """Permute the elements of a stream, of which up to one and a half times `buffer` bytes are held."""

    buffer: int

    @property
    def name(self) -> str:
        return "shuffle"

    def flow(self, inputs: tuple[Open, ...], epoch: int, mark: Mark, allocate: Allocate) -> Flow:
        """Two passes that permute blocks, each ending with the element that fills half of the buffer.

        The first block of each pass is smaller, by a part drawn for the epoch, so that blocks begin elsewhere in every
        epoch. Each block is permuted by a key of its own, so the state is the number of a block; going on from a mark
        makes at most two blocks again.
        """
        if self.seed is None:
            raise RuntimeError("a shuffle without a seed reached the compiler; bind_seeds comes first")
        (source,) = inputs
        key, half = mix(self.seed, epoch if self.reshuffle else 0), -(-self.buffer // 2)
        first = 1 + mix(key, 3) % half
        second = 1 + (first + half // 2) % half  # across the borders of the first pass

        def once(epoch: int, mark: Mark = None) -> Flow:
            return _permuted_blocks(source, epoch, mark, (first, half), mix(key, 1))

        return _permuted_blocks(once, epoch, mark, (second, half), mix(key, 2))

    def redone(self) -> str:
        return f"makes up to {self.buffer:,} bytes of elements again; it holds up to {self.buffer + self.buffer // 2:,}"

    def mixing(self) -> str:
        return (
            f"blocks of {-(-self.buffer // 2):,} bytes are permuted, and again across their borders; no element moves "
            "further than the buffer reaches, about a third as far as with a buffer_size of as many"
        )

    def arguments(self) -> str:
        others = super().arguments()
        return f"buffer_bytes={self.buffer}" + (f", {others}" if others else "")


def _permuted_blocks(source: Open, epoch: int, mark: Mark, room: tuple[int, int], key: int) -> Flow:
    """The elements of `source` with each block permuted; there is `room[0]` in the first, `room[1]` in others.

    A block ends with the element that fills it.
    """
    number, at = resumed(mark, (0, None))
    parts: list[Piece] = []
    taken = 0  # of the room, by `parts`
    with Reader(source, epoch, at) as reader:
        for piece, mark_after in reader.runs():
            ends = np.cumsum(sizes_of(piece.chunk))  # ends[i]: what elements up to i take together
            low, gone = 0, 0
            while (high := int(np.searchsorted(ends, gone + room[min(number, 1)] - taken)) + 1) <= len(piece):
                parts.append(piece.slice(low, high))
                yield mixed(joined(parts), mix(key, number), [number + 1, mark_after(high)])
                number, parts, taken, low, gone = number + 1, [], 0, high, int(ends[high - 1])
            if low < len(piece):
                parts.append(piece.slice(low, len(piece)))
                taken += int(ends[-1]) - gone
        if parts:
            yield mixed(joined(parts), mix(key, number), [number + 1, reader.mark])

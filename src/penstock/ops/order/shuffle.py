"""Permute the elements."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from penstock.core.seeds import mix, written_seed
from penstock.elements.chunk import Chunk
from penstock.index.blocked import Blocks
from penstock.index.permuted import permuted
from penstock.plan.flow import Flow, Mark, Open, Piece, Reader, joined, resumed
from penstock.plan.node import Allocate, Passing, Rows


@dataclass(frozen=True)
class Shuffle(Passing):
    """Permute each epoch by a bijection keyed by `seed` and, where `reshuffle`, by the epoch.

    With `window` elements move by less than about `window` places; without, anywhere in the epoch.
    """

    keeps_ids = True

    window: int | None
    seed: int | None
    reshuffle: bool

    def rows_of(self, rows: Rows) -> Rows:
        if self.seed is None:
            raise RuntimeError("a shuffle without a seed reached the compiler; bind_seeds comes first")
        return permuted(rows, length=self.stride, key=self.seed, window=self.window, reshuffle=self.reshuffle)

    def flow(self, inputs: tuple[Open, ...], epoch: int, mark: Mark, allocate: Allocate) -> Flow:
        """Two passes that permute blocks, those of the second lying across the borders of the first's.

        Each block is permuted by a key of its own, so the state is the number of a block; going on from a mark makes at
        most two blocks again.
        """
        if self.seed is None or self.window is None:
            raise RuntimeError("a stream's shuffle without seed or window reached the compiler")
        (source,) = inputs
        key = mix(self.seed, epoch if self.reshuffle else 0)
        if self.window == 1:
            return source(epoch, mark)
        size = max((self.window + 1) // 2, 2)

        def once(epoch: int, mark: Mark = None) -> Flow:
            return permuted_blocks(source, epoch, mark, (size, size), mix(key, 1))

        if self.window == 2:  # two passes would move elements by up to two places
            return once(epoch, mark)
        return permuted_blocks(once, epoch, mark, (size // 2, size), mix(key, 2))

    def redone(self) -> str:
        held = 0 if self.window in (None, 1) else self.window + self.window // 2
        return f"makes up to {held:,} elements again, as many as it holds" if held else ""

    def arguments(self) -> str:
        window = [] if self.window is None else [str(self.window)]
        reshuffle = [] if self.reshuffle else ["reshuffle_each_iteration=False"]
        return ", ".join(window + written_seed(self.seed) + reshuffle)


@dataclass(frozen=True)
class ShuffleBlocks(Shuffle):
    """Permute the blocks that the data is read in, and the rows within a window of blocks: for data dear to read."""

    known: Blocks

    @property
    def name(self) -> str:
        return "shuffle"

    def rows_of(self, rows: Rows) -> Rows:
        if self.seed is None:
            raise RuntimeError("a shuffle without a seed reached the compiler; bind_seeds comes first")
        return self.known.permuted(rows, key=self.seed, reshuffle=self.reshuffle)

    def mixing(self) -> str:
        known = self.known
        share = known.widest / max(known.length, 1)
        return (
            f"{known.count:,} blocks of about {known.length // known.count:,} rows in random order, and the rows of "
            f"{known.window:,} at a time; so rows of one block come within {known.widest:,} of each other "
            f"({share:.0%} of an epoch). uniform=True mixes all rows, and reads many times as much"
        )


Weigh: TypeAlias = Callable[[Chunk], np.ndarray]
"""What each element of a chunk takes of the room in a block: `int64[k]`, from 1 on."""


def permuted_blocks(
    source: Open, epoch: int, mark: Mark, room: tuple[int, int], key: int, weigh: Weigh | None = None
) -> Flow:
    """The elements of `source` with each block permuted; there is `room[0]` in the first, `room[1]` in others.

    A block ends with the element that fills it. Each takes one of the room, or as much as `weigh` says.
    """
    number, at = resumed(mark, (0, None))
    parts: list[Piece] = []
    taken = 0  # of the room, by `parts`
    with Reader(source, epoch, at) as reader:
        while reader.ready(room[min(number, 1)] - taken if weigh is None else None):
            piece, mark_after = reader.run()
            # ends[i]: what elements up to i take together
            ends = np.arange(1, len(piece) + 1) if weigh is None else np.cumsum(weigh(piece.chunk))
            low, gone = 0, 0
            while (high := int(np.searchsorted(ends, gone + room[min(number, 1)] - taken)) + 1) <= len(piece):
                parts.append(piece.slice(low, high))
                yield _permuted(parts, mix(key, number), [number + 1, mark_after(high)])
                number, parts, taken, low, gone = number + 1, [], 0, high, int(ends[high - 1])
            if low < len(piece):
                parts.append(piece.slice(low, len(piece)))
                taken += int(ends[-1]) - gone
        if parts:
            yield _permuted(parts, mix(key, number), [number + 1, reader.mark])


def _permuted(parts: list[Piece], key: int, after: Mark) -> Piece:
    block = joined(parts)
    chosen = block.select(permuted(np.arange(len(block)), length=len(block), key=key, reshuffle=False))
    return Piece(chosen.chunk, chosen.ids, after)

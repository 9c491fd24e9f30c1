"""Draw from several streams as choices direct, limited to the elements that are ready."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from penstock.core.arrays import Rows
from penstock.core.errors import CursorError
from penstock.elements.chunks.chunk import Chunk
from penstock.ops.combine.mixture import merged
from penstock.plan.flow import Mark, Open, Reader

LOOKED_AHEAD = 1024
"""Choices that are made together."""
LEAST = 16  # choices examined at once for ready elements


class Merger:
    """Several open streams; `ended` is the stream that a choice found exhausted."""

    def __init__(self, inputs: Sequence[Open], epoch: int, marks: Sequence[Mark]) -> None:
        self.ended: int | None = None
        self._readers = [Reader(source, epoch, mark) for source, mark in zip(inputs, marks, strict=True)]
        self._at_hand = np.zeros(len(inputs), np.int64)

    @property
    def marks(self) -> list[Mark]:
        """The position of the next element of each input."""
        return [reader.mark for reader in self._readers]

    def drawn(self, choices: Iterable[Rows]) -> Iterator[Chunk]:
        """Yield the chosen elements, up to the last choice or to the first choice of an exhausted input."""
        self.ended, look = None, LEAST
        for which in choices:
            low = 0
            while low < len(which):
                ready = self._ready(which[low : low + look])
                if not ready:
                    self.ended = int(which[low])
                    return
                yield self._take(which[low : low + ready])
                low, look = low + ready, max(2 * ready, LEAST)

    def _ready(self, which: Rows) -> int:
        """Return how many of the choices can be served at once; wait for the first choice only."""
        first = int(which[0])
        if not self._at_hand[first]:
            self._at_hand[first] = self._readers[first].ready()
        order = np.argsort(which, kind="stable")
        counts = np.bincount(which, minlength=len(self._readers))
        ranks = np.empty(len(which), np.int64)  # earlier choices of the same input
        ranks[order] = np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts)
        missing = ranks >= self._at_hand[which]
        return int(np.argmax(missing)) if missing.any() else len(which)

    def _take(self, which: Rows) -> Chunk:
        self._at_hand -= np.bincount(which, minlength=len(self._readers))
        return merged(which, self._read)

    def _read(self, member: int, places: Rows) -> Chunk:
        piece = self._readers[member].read(len(places))
        if piece is None or len(piece) < len(places):
            raise RuntimeError(f"input {member} of a mixture has fewer elements than it declared")
        return piece.chunk

    def close(self) -> None:
        """Stop the inputs."""
        for reader in self._readers:
            reader.close()


def check_ended(which: Sequence[int], count: int) -> None:
    """Raise an error if a mark names ended inputs that `count` inputs cannot have."""
    if len(set(which)) < len(which) or any(one >= count for one in which):
        raise CursorError(f"the saved state's mark lists inputs {which!r:.80} as ended, but there are {count} inputs")

"""Draws from several streams as choices say, as far as elements are at hand."""

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
LEAST = 16  # choices looked at for what is at hand


class Merger:
    """Several streams under way; `ended` is the one that a choice found at its end."""

    def __init__(self, inputs: Sequence[Open], epoch: int, marks: Sequence[Mark]) -> None:
        self.ended: int | None = None
        self._readers = [Reader(source, epoch, mark) for source, mark in zip(inputs, marks, strict=True)]
        self._at_hand = np.zeros(len(inputs), np.int64)

    @property
    def marks(self) -> list[Mark]:
        """Where the next element of each input is."""
        return [reader.mark for reader in self._readers]

    def drawn(self, choices: Iterable[Rows]) -> Iterator[Chunk]:
        """The elements chosen, up to the end of the choices, or to the first of an input that has ended."""
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
        """How many of the choices can be had at once: it waits for the first of them, and for no other."""
        first = int(which[0])
        if not self._at_hand[first]:
            self._at_hand[first] = self._readers[first].ready()
        order = np.argsort(which, kind="stable")
        counts = np.bincount(which, minlength=len(self._readers))
        ranks = np.empty(len(which), np.int64)  # choices of the same input before
        ranks[order] = np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts)
        missing = ranks >= self._at_hand[which]
        return int(np.argmax(missing)) if missing.any() else len(which)

    def _take(self, which: Rows) -> Chunk:
        self._at_hand -= np.bincount(which, minlength=len(self._readers))
        return merged(which, self._read)

    def _read(self, member: int, places: Rows) -> Chunk:
        piece = self._readers[member].read(len(places))
        if piece is None or len(piece) < len(places):
            raise RuntimeError(f"input {member} of a mixture has fewer elements than it said")
        return piece.chunk

    def close(self) -> None:
        """Stop the inputs."""
        for reader in self._readers:
            reader.close()


def check_ended(which: Sequence[int], count: int) -> None:
    """Refuse the numbers of inputs that have ended where a mark has others than there can be of `count` inputs."""
    if len(set(which)) < len(which) or any(one >= count for one in which):
        raise CursorError(f"the saved state's mark says that of {count} inputs those numbered {which!r:.80} have ended")

"""Pieces of `pack`: the cuts of documents, and the fixed-length sequence of each piece."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from penstock.core.arrays import Rows
from penstock.kernels import Fit, pack_bins


class Packed(NamedTuple):
    """The pieces of documents in a number of sequences, one sequence after another.

    A row of `pieces`, `int64[p, 5]`, is a document, the index of the piece's first token there, its length, the
    position of its first token, and its sequence, as `kernels.fill_bins` expects.
    """

    pieces: NDArray[np.int64]
    sequences: int

    def parts(self, cuts: Sequence[int]) -> list[Packed]:
        """Return one part for the sequences between each of `cuts` and the next."""
        bounds = self.pieces[:, 4].searchsorted(cuts).tolist()
        pieces = self.pieces.copy()
        pieces[bounds[0] : bounds[-1], 4] -= np.repeat(cuts[:-1], np.diff(bounds))
        spans = zip(pairwise(bounds), pairwise(cuts), strict=True)
        return [Packed(pieces[first:last], high - low) for (first, last), (low, high) in spans]


def fitted(lengths: Rows, length: int, fit: Fit, *, keep_positions: bool = False) -> Packed:
    """Pack documents of `lengths` whole; one longer than `length` is cut into pieces of `length` and a rest.

    Positions restart with each piece, or continue through a document with `keep_positions`.

    >>> fitted(np.array([3, 2, 1, 9]), 4, "best_fit").pieces.tolist()
    [[0, 0, 3, 0, 0], [2, 0, 1, 0, 0], [1, 0, 2, 0, 1], [3, 8, 1, 0, 1], [3, 0, 4, 0, 2], [3, 4, 4, 0, 3]]
    """
    documents, starts, sizes = np.arange(len(lengths)), np.zeros_like(lengths), lengths
    if lengths.max(initial=0) > length:
        counts = -(-lengths // length)  # pieces of each document
        documents = np.repeat(documents, counts)
        starts = (np.arange(len(documents)) - np.repeat(np.cumsum(counts) - counts, counts)) * length
        sizes = np.minimum(lengths[documents] - starts, length)
    bins, sequences = pack_bins(sizes, length, fit)
    narrow = bins.astype(np.min_scalar_type(sequences))  # keys of at most 16 bits are sorted in linear time; -1 is last
    order = np.argsort(narrow, kind="stable")[: np.count_nonzero(sizes)]
    return Packed(_table(documents, starts, sizes, bins, keep_positions).take(order, axis=0), sequences)


def join_documents(lengths: Rows, length: int, *, offset: int = 0, keep_positions: bool = False) -> Packed:
    """Join documents end to end, from token `offset` of the first one on, and cut them every `length` tokens.

    The last sequence holds the remainder. A piece begins at each document and at each cut.

    >>> join_documents(np.array([3, 2, 1]), 4).pieces.tolist()
    [[0, 0, 3, 0, 0], [1, 0, 1, 0, 0], [1, 1, 1, 0, 1], [2, 0, 1, 0, 1]]
    """
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    borders = np.unique(np.concatenate([[offset], ends, np.arange(offset, total, length)]))
    borders = borders[np.searchsorted(borders, offset) :]
    begins = borders[:-1]
    documents = np.searchsorted(ends, begins, side="right")
    starts = begins - (ends - lengths)[documents]
    sequences = -(-(total - offset) // length) if total > offset else 0
    return Packed(_table(documents, starts, np.diff(borders), (begins - offset) // length, keep_positions), sequences)


def _table(documents: Rows, starts: Rows, sizes: Rows, bins: Rows, keep_positions: bool) -> NDArray[np.int64]:
    pieces = np.empty((len(documents), 5), np.int64)
    for column, values in enumerate((documents, starts, sizes, starts if keep_positions else 0, bins)):
        pieces[:, column] = values
    return pieces

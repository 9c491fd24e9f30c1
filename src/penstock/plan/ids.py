"""Ids of the elements of streams, which key their randomness: counted, or derived from other ids."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from penstock.core.arrays import Rows
from penstock.core.seeds import INCREMENT, START, mix

EPOCH_BITS = 44
"""Bits per epoch for the numbers of elements that are counted in a stream."""
MOST_EPOCHS = 1 << 18
"""Epochs whose elements are numbered consecutively; later ones begin at a hashed number below 2**62."""
NO_IDS = np.zeros(0, np.int64)


def ordinals(epoch: int, first: int, count: int) -> Rows:
    """Return the ids of elements numbered by their position in the stream."""
    begin = (epoch << EPOCH_BITS if epoch < MOST_EPOCHS else mix(epoch) >> 2) + first
    return np.arange(begin, begin + count, dtype=np.int64)


def child_ids(parents: Rows, counts: Rows, first: int = 0) -> Rows:
    """Return the ids of elements made from others: `counts[i]` from `parents[i]`, from its child `first` on.

    >>> both = child_ids(np.array([5, 6]), np.array([3, 1]))
    >>> bool(both[2] == child_ids(np.array([5]), np.array([1]), first=2)[0])
    True
    """
    ends = np.cumsum(counts)
    place = np.arange(first, first + (int(ends[-1]) if len(ends) else 0), dtype=np.int64)
    return np.repeat(scatter(parents) - (ends - counts), counts) + place


def first_child_id(parent: int) -> int:
    """Return the id of the first element made from another; the ids of the others follow it.

    >>> first_child_id(5) == child_ids(np.array([5]), np.array([1]))[0]
    np.True_
    """
    return mix(parent) >> 2


def origin_of(child: int, parents: Sequence[Rows]) -> tuple[int, tuple[int, ...]]:
    """Return the id of the element that `child` was taken out of, and the position there: see `Piece.parents`.

    There is one position per step: 2, 0 is element 0 of what was element 2.

    >>> batches = np.array([5, 6])
    >>> rows = child_ids(batches, np.array([3, 2]))
    >>> [origin_of(int(row), [batches]) for row in rows]
    [(5, (0,)), (5, (1,)), (5, (2,)), (6, (0,)), (6, (1,))]
    """
    places: tuple[int, ...] = ()
    for ids in reversed(parents):
        place = child - scatter(ids)  # among the children of each
        at = int(np.argmin(np.where(place < 0, np.iinfo(np.int64).max, place)))
        child, places = int(ids[at]), (int(place[at]), *places)
    return child, places


def scatter(ids: Rows) -> Rows:
    """Scatter ids over [0, 2**62): `mix` of each, with room above for its children."""
    with np.errstate(over="ignore"):
        words = _scrambled((np.uint64(START) ^ ids.astype(np.uint64)) + np.uint64(INCREMENT))
    return (words >> np.uint64(2)).astype(np.int64)


def _scrambled(words: np.ndarray) -> np.ndarray:
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))

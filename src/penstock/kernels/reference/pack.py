"""Packing of sequences into bins, sequence by sequence and token by token."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.core.arrays import Rows


def pack_bins(lengths: Rows, capacity: int, strategy: str = "best_fit") -> tuple[Rows, int]:
    """Return the bin of each sequence and the number of bins: by first fit, or by best fit, the longest first."""
    sizes = lengths.tolist()
    order = list(range(len(sizes)))
    if strategy == "best_fit":
        order.sort(key=lambda i: -sizes[i])
    room: list[int] = []
    filled: list[int] = []  # time of the last fill of each bin
    bins = [-1] * len(sizes)
    for turn, i in enumerate(order):
        if not 0 <= sizes[i] <= capacity:
            raise ValueError(f"sequence {i} has {sizes[i]} tokens")
        if sizes[i] == 0:
            continue
        fitting = [b for b, left in enumerate(room) if left >= sizes[i]]
        if not fitting:
            fitting = [len(room)]
            room.append(capacity)
            filled.append(0)
        bins[i] = fitting[0] if strategy == "first_fit" else min(fitting, key=lambda b: (room[b], -filled[b]))
        room[bins[i]] -= sizes[i]
        filled[bins[i]] = turn
    numbers = {b: number for number, b in enumerate(dict.fromkeys(b for b in bins if b >= 0))}
    return np.array([numbers.get(b, -1) for b in bins], np.int64), len(room)


def fill_bins(
    documents: list[NDArray[Any]],
    pieces: NDArray[np.int64],
    out: tuple[NDArray[Any], NDArray[np.int32], NDArray[np.int32]],
    pad: int = 0,
) -> None:
    """Write the pieces, rows of (document, start, length, position, bin), next to each other into their bins."""
    tokens, segment_ids, positions = out
    tokens[...], segment_ids[...], positions[...] = pad, 0, 0
    filled = [0] * len(tokens)
    for document, start, length, position, b in pieces.tolist():
        here = slice(filled[b], filled[b] + length)
        if here.stop > tokens.shape[1]:
            raise ValueError(f"no room for {length} tokens in bin {b}")
        tokens[b, here] = documents[document][start : start + length]
        segment_ids[b, here] = segment_ids[b].max(initial=0) + 1
        positions[b, here] = np.arange(position, position + length)
        filled[b] += length

"""Packing of sequences into bins in native code; `reference.pack` is the twin."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from penstock.core.arrays import Rows
from penstock.kernels import _native
from penstock.kernels.memory import Begun, SideThread
from penstock.kernels.rows import native_rows

Fit: TypeAlias = Literal["first_fit", "best_fit"]

MOST_CAPACITY = 1 << 24
"""The most tokens of one bin."""

_INT32 = np.dtype(np.int32)
_INT64 = np.dtype(np.int64)


def pack_bins(lengths: Rows, capacity: int, strategy: Fit = "best_fit") -> tuple[Rows, int]:
    """Return the bin of `capacity` tokens of each sequence, `int64[n]`, and the number of bins.

    `"first_fit"` puts sequences, in order, into the first bin with room. `"best_fit"` puts the longest first (the first
    of equally long ones), each into the fullest bin with room (the last filled of equally full ones); bins are then
    numbered by their first sequences, so that bins roughly follow the order of sequences. The former takes O(n log n),
    the latter O(n + capacity). A sequence without tokens is in bin -1; a sequence longer than `capacity`, or a capacity
    beyond `MOST_CAPACITY`, raises a `ValueError`.

    >>> bins, count = pack_bins(np.array([1, 8, 7, 2, 3]), 10)
    >>> bins.tolist(), count
    ([0, 1, 2, 1, 2], 3)
    >>> pack_bins(np.array([1, 8, 7, 2, 3]), 10, "first_fit")[0].tolist()
    [0, 0, 1, 1, 2]
    """
    lengths = native_rows(lengths)
    bins = np.empty(len(lengths), _INT64)
    return bins, _native.pack_bins(lengths, bins, capacity, _FITS[strategy])


class HeldArrays:
    """One-dimensional arrays of one dtype, with memory held for `fill_bins`; `lengths` are the lengths of the arrays.

    Any other object raises a `TypeError` that names the first. A held array cannot be resized.

    >>> HeldArrays([np.arange(2), np.arange(3)], np.dtype(np.int64)).lengths.tolist()
    [2, 3]
    """

    __slots__ = ("arrays", "lengths", "native")

    def __init__(self, arrays: list[NDArray[Any]], dtype: np.dtype[Any]) -> None:
        self.arrays = arrays
        self.lengths: Rows = np.empty(len(arrays), _INT64)
        self.native = _native.Held(arrays, dtype, self.lengths)


def fill_bins(
    documents: list[HeldArrays],
    pieces: NDArray[np.int64],
    out: tuple[NDArray[Any], NDArray[np.int32], NDArray[np.int32]],
    pad: int = 0,
) -> None:
    """Write tokens, segment numbers and positions into `out`, three arrays of shape `(bins, capacity)`.

    A row of `pieces`, shape `(p, 5)`, is a document, the index of the piece's first token there, its length, the
    position of its first token, and its bin. Documents are numbered across all held arrays, and have the dtype of the
    tokens, with any stride. The pieces of a bin are adjacent, in the given order, numbered from 1; the rest is `pad`,
    segment 0, position 0. A piece that does not fit raises a `ValueError`. Long calls run without the GIL.

    >>> out = np.empty((1, 4), np.uint16), np.empty((1, 4), np.int32), np.empty((1, 4), np.int32)
    >>> texts = HeldArrays([np.array([7, 8, 9], np.uint16)], np.dtype(np.uint16))
    >>> fill_bins([texts], np.array([[0, 0, 1, 0, 0], [0, 1, 2, 0, 0]]), out)
    >>> [array[0].tolist() for array in out]
    [[7, 8, 9, 0], [1, 2, 2, 0], [0, 0, 1, 0]]
    """
    begin_filling(documents, pieces, out, pad, None)


def begin_filling(
    documents: list[HeldArrays],
    pieces: NDArray[np.int64],
    out: tuple[NDArray[Any], NDArray[np.int32], NDArray[np.int32]],
    pad: int,
    side: SideThread | None,
) -> Begun:
    """Begin `fill_bins` in another thread, after its earlier work; fill at once if the thread is `None`.

    `out` is filled after `wait()` of the result, which holds references to all the arrays. Errors are raised here.

    >>> out = np.empty((1, 4), np.int64), np.empty((1, 4), np.int32), np.empty((1, 4), np.int32)
    >>> texts = HeldArrays([np.array([7, 8, 9])], np.dtype(np.int64))
    >>> begun = begin_filling([texts], np.array([[0, 0, 3, 0, 0]]), out, 0, SideThread())
    >>> len(begun.wait()), out[0].tolist()
    (2, [[7, 8, 9, 0]])
    """
    tokens, segment_ids, positions = out
    dtype = tokens.dtype
    if dtype.hasobject:
        raise TypeError(f"tokens must be plain values, not {dtype}")
    if pieces.dtype != _INT64 or segment_ids.dtype != _INT32 or positions.dtype != _INT32:
        raise TypeError(
            "pieces must be an array of int64, segment_ids and positions arrays of int32, "
            f"not {pieces.dtype}, {segment_ids.dtype} and {positions.dtype}"
        )
    if not tokens.shape == segment_ids.shape == positions.shape:
        raise ValueError(f"out must be arrays of one shape, not {tokens.shape}, {segment_ids.shape}, {positions.shape}")
    held = [each.native for each in documents]
    table, padding = np.ascontiguousarray(pieces), np.array([pad], dtype)
    return _native.Filling(held, table, padding, tokens, segment_ids, positions, side)


_FITS: dict[Fit, bool] = {"first_fit": False, "best_fit": True}

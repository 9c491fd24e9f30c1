"""Packing of sequences into bins in native code; `reference.pack` is the twin."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from penstock.core.arrays import Rows
from penstock.kernels import _native
from penstock.kernels.memory import Begun, SideThread
from penstock.kernels.order import as_rows

Fit: TypeAlias = Literal["first_fit", "best_fit"]

MOST_CAPACITY = 1 << 24
"""The most tokens of one bin."""

_INT32 = np.dtype(np.int32)
_INT64 = np.dtype(np.int64)


def pack_bins(lengths: Rows, capacity: int, strategy: Fit = "best_fit") -> tuple[Rows, int]:
    """Return which bin of `capacity` tokens each sequence goes into, `int64[n]`, and how many bins there are.

    `"first_fit"` takes sequences as they come, each into the first bin with room for it. `"best_fit"` takes the longest
    first (of equally long ones the one that came first), each into the fullest bin with room for it (of equally full
    ones the one filled last); its bins are then numbered by the first sequence in each, so that bins come about as
    their sequences came. The former takes O(n log n), the latter O(n + capacity). A sequence of no tokens is in bin -1;
    one longer than `capacity` is a `ValueError`, and so is a capacity beyond `MOST_CAPACITY`.

    >>> bins, count = pack_bins(np.array([1, 8, 7, 2, 3]), 10)
    >>> bins.tolist(), count
    ([0, 1, 2, 1, 2], 3)
    >>> pack_bins(np.array([1, 8, 7, 2, 3]), 10, "first_fit")[0].tolist()
    [0, 0, 1, 1, 2]
    """
    lengths = as_rows(lengths)
    bins = np.empty(len(lengths), _INT64)
    return bins, _native.pack_bins(lengths, bins, capacity, _FITS[strategy])


class Held:
    """One-dimensional arrays of one dtype, whose memory `fill_bins` need not ask for each time; `lengths` are theirs.

    Anything else among them is a `TypeError` that names the first. Nobody can resize an array while it is held.

    >>> Held([np.arange(2), np.arange(3)], np.dtype(np.int64)).lengths.tolist()
    [2, 3]
    """

    __slots__ = ("arrays", "lengths", "native")

    def __init__(self, arrays: list[NDArray[Any]], dtype: np.dtype[Any]) -> None:
        self.arrays = arrays
        self.lengths: Rows = np.empty(len(arrays), _INT64)
        self.native = _native.Held(arrays, np.ndarray, dtype, self.lengths)


def fill_bins(
    documents: list[Held],
    pieces: NDArray[np.int64],
    out: tuple[NDArray[Any], NDArray[np.int32], NDArray[np.int32]],
    pad: int = 0,
) -> None:
    """Write tokens, segment numbers and positions into `out`, three arrays of shape `(bins, capacity)`.

    A row of `pieces`, shape `(p, 5)`, is a document, the index of the piece's first token there, its length, the
    position of its first token, and its bin. Documents are numbered through all that are held; they have the dtype of
    the tokens, and any stride. Pieces of a bin lie side by side in the order given, numbered from 1; what is left is
    `pad`, segment 0, position 0. A piece that does not fit is a `ValueError`. Long calls run without the GIL.

    >>> out = np.empty((1, 4), np.uint16), np.empty((1, 4), np.int32), np.empty((1, 4), np.int32)
    >>> texts = Held([np.array([7, 8, 9], np.uint16)], np.dtype(np.uint16))
    >>> fill_bins([texts], np.array([[0, 0, 1, 0, 0], [0, 1, 2, 0, 0]]), out)
    >>> [array[0].tolist() for array in out]
    [[7, 8, 9, 0], [1, 2, 2, 0], [0, 0, 1, 0]]
    """
    begin_filling(documents, pieces, out, pad, None)


def begin_filling(
    documents: list[Held],
    pieces: NDArray[np.int64],
    out: tuple[NDArray[Any], NDArray[np.int32], NDArray[np.int32]],
    pad: int,
    side: SideThread | None,
) -> Begun:
    """Begin what `fill_bins` does in another thread, after what was begun there before; at once where that is `None`.

    `out` is filled once `wait()` of what is returned has returned; it holds all the arrays. Errors are raised here.

    >>> out = np.empty((1, 4), np.int64), np.empty((1, 4), np.int32), np.empty((1, 4), np.int32)
    >>> texts = Held([np.array([7, 8, 9])], np.dtype(np.int64))
    >>> begun = begin_filling([texts], np.array([[0, 0, 3, 0, 0]]), out, 0, SideThread())
    >>> len(begun.wait()), out[0].tolist()
    (2, [[7, 8, 9, 0]])
    """
    tokens, segment_ids, positions = out
    dtype = tokens.dtype
    if dtype.hasobject:
        raise TypeError(f"tokens are plain values, not {dtype}")
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

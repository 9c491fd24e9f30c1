"""Rows of `window`, and of batches of several sizes: the elements of each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from penstock.core.arrays import Rows
from penstock.index.epochs import check_last, split


def windows_in(length: int, *, size: int, shift: int, step: int, drop: bool) -> int:
    """Return the number of windows of `size` elements, `step` apart, that begin `shift` apart among `length` elements.

    The last windows have fewer elements, unless `drop` leaves out incomplete ones.

    >>> windows_in(5, size=3, shift=1, step=1, drop=False), windows_in(5, size=3, shift=1, step=1, drop=True)
    (5, 3)
    """
    last_start = length - 1 - ((size - 1) * step if drop else 0)
    return max(last_start // shift + 1, 0)


def windowed(
    rows: Rows, *, size: int, shift: int, step: int, windows: int, length: int, input_stride: int
) -> tuple[Rows, Rows]:
    """Return the input's rows of all windows, one window after another, and the size of each, `int64[k]`.

    An epoch has `windows` windows over `length` elements, and an epoch of the input has `input_stride` rows. A negative
    row raises a `ValueError`.

    >>> elements, counts = windowed(np.arange(3), size=2, shift=2, step=2, windows=3, length=5, input_stride=5)
    >>> elements.tolist(), counts.tolist()
    ([0, 2, 2, 4, 4], [2, 2, 1])
    """
    if not len(rows):
        return rows, rows
    epochs, window = split(rows, windows)
    check_last(epochs, input_stride)
    starts = window * shift
    counts = np.clip(-(-(length - starts) // step), 0, size)
    return _runs(epochs * input_stride + starts, counts, step), counts


def cycled_in(length: int, *, sizes: Sequence[int], drop: bool) -> int:
    """Return the number of batches of `length` elements, with `sizes` in turn; the last is shorter, or dropped.

    >>> cycled_in(8, sizes=[3, 1], drop=False), cycled_in(6, sizes=[3, 1], drop=True)
    (4, 2)
    """
    turns, rest = divmod(length, sum(sizes))
    ends = np.cumsum(sizes)
    full = int(np.searchsorted(ends, rest, side="right"))
    whole = turns * len(sizes) + full
    return whole if drop or rest == (ends[full - 1] if full else 0) else whole + 1


def cycled(rows: Rows, *, sizes: Sequence[int], batches: int, length: int, input_stride: int) -> tuple[Rows, Rows]:
    """Return the input's rows of all batches, one batch after another, and the size of each, `int64[k]`.

    Batches have `sizes` in turn; an epoch begins with the first size and has `batches` batches over `length` elements,
    and an epoch of the input has `input_stride` rows. A negative row raises a `ValueError`.

    >>> elements, counts = cycled(np.arange(4), sizes=[3, 1], batches=4, length=8, input_stride=8)
    >>> elements.tolist(), counts.tolist()
    ([0, 1, 2, 3, 4, 5, 6, 7], [3, 1, 3, 1])
    """
    if not len(rows):
        return rows, rows
    epochs, batch = split(rows, batches)
    check_last(epochs, input_stride)
    turns, which = np.divmod(batch, len(sizes))
    each = np.array(sizes, np.int64)
    starts = turns * each.sum() + (np.cumsum(each) - each)[which]
    counts = np.clip(length - starts, 0, each[which])
    return _runs(epochs * input_stride + starts, counts, 1), counts


def _runs(starts: Rows, counts: Rows, step: int) -> Rows:
    """Return `counts[i]` numbers from `starts[i]` on, `step` apart, one run after another."""
    ends = np.cumsum(counts)
    place = np.arange(counts.sum()) - np.repeat(ends - counts, counts)  # the place of each number in its run
    return np.repeat(starts, counts) + place * step

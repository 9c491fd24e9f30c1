"""Rows of `shuffle` if a random read is expensive: blocks in random order, and rows shuffled in a window of blocks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from penstock.core.arrays import Rows
from penstock.core.digest import digest
from penstock.core.frozen import frozen
from penstock.core.seeds import mix
from penstock.index.epochs import check_last, split
from penstock.kernels import permute

_WORD = (1 << 64) - 1
_ORDERS_KEPT = 4  # epochs whose orders are cached


class _Order(NamedTuple):
    """The blocks of one epoch in random order, cut into windows of consecutive blocks."""

    key: int
    blocks: NDArray[np.int64]
    """The block at each place, shape `(m,)`."""
    starts: NDArray[np.int64]
    """The place of each block's first row, and the end: shape `(m + 1,)`."""
    windows: NDArray[np.int64]
    """The place of each window's first row, and the end."""


@frozen(eq=False)
class Blocks:
    """A division of the positions `[0, length)` into blocks that are read as a unit, and the shuffle window.

    `bounds`, `int64[m + 1]`, strictly increasing from 0 to the length, are the first positions of the blocks and the
    end. `window` blocks are kept in memory at a time.
    """

    bounds: NDArray[np.int64]
    window: int
    _orders: dict[int, _Order] = field(default_factory=dict[int, _Order], init=False, repr=False)

    @property
    def count(self) -> int:
        """The number of blocks."""
        return len(self.bounds) - 1

    @property
    def length(self) -> int:
        """The number of positions."""
        return int(self.bounds[-1])

    @property
    def widest(self) -> int:
        """The number of positions in a window of the largest blocks."""
        return int(np.sort(np.diff(self.bounds))[-self.window :].sum())

    def permuted(self, rows: Rows, *, key: int, reshuffle: bool = True) -> Rows:
        """Return the input's row of each row: blocks in an order chosen by `key` and, if `reshuffle`, the epoch.

        The blocks, put end to end in that order, are cut into windows of at most `window` blocks, and the rows of each
        window are permuted: a bijection of every epoch. The cost is O(m) for each epoch, and a binary search for each
        row. Shapes `(k,)`; a negative row raises a `ValueError`.

        >>> Blocks(np.array([0, 2, 4, 6]), window=1).permuted(np.arange(6), key=2).tolist()
        [5, 4, 0, 1, 3, 2]
        """
        if not len(rows):
            return rows
        epochs, places = split(rows, self.length)
        check_last(epochs, self.length)
        if epochs.ndim == 0:
            return self._moved(places, self._order(key, int(epochs), reshuffle=reshuffle)) + epochs * self.length
        moved = np.empty_like(places)
        for epoch in np.unique(epochs).tolist():
            here = epochs == epoch
            moved[here] = self._moved(places[here], self._order(key, epoch, reshuffle=reshuffle)) + epoch * self.length
        return moved

    def cut(self, length: int, position: Callable[[Rows], Rows]) -> Blocks | None:
        """Return the blocks of `length` chosen elements, in the same order; `position` maps each to its old position.

        Binary search finds the new bounds, without memory for each element. The result is `None` if no element is left.

        >>> Blocks(np.array([0, 4, 8]), window=1).cut(3, lambda rows: 1 + rows * 3).bounds.tolist()
        [0, 1, 3]
        """
        if length < 1:
            return None
        low = np.zeros(len(self.bounds), np.int64)  # number of elements before each bound: at least, at most
        high = np.full(len(self.bounds), length, np.int64)
        while bool((low < high).any()):
            middle = np.minimum((low + high) // 2, length - 1)
            before = (position(middle) < self.bounds) & (low < high)
            low = np.where(before, middle + 1, low)
            high = np.where(before, high, np.minimum(middle, high))
        return Blocks(np.unique(low), self.window)

    def fingerprint(self) -> tuple[Any, ...]:
        """Return values that the order depends on."""
        return ("blocks", self.count, self.window, digest(self.bounds.tobytes()))

    def __reduce__(self) -> tuple[Any, ...]:
        return Blocks, (self.bounds, self.window)

    def _moved(self, places: Rows, order: _Order) -> Rows:
        window = order.windows.searchsorted(places, "right") - 1
        inside = np.empty_like(places)
        first, last = int(window[0]), int(window[-1])
        one = first == last and bool((window == first).all())  # nearly every batch lies in one epoch
        for number in [first] if one else np.unique(window).tolist():
            here = window == number
            low, high = order.windows[number : number + 2].tolist()
            inside[here] = low + permute(places[here] - low, high - low, mix(order.key, 1 + number))
        at = order.starts.searchsorted(inside, "right") - 1
        return self.bounds[order.blocks[at]] + inside - order.starts[at]

    def _order(self, key: int, epoch: int, *, reshuffle: bool) -> _Order:
        key = mix(key & _WORD, epoch if reshuffle else 0, self.length)
        found = self._orders.get(key)
        if found is None:
            found = self._made(key)
            while len(self._orders) >= _ORDERS_KEPT:
                self._orders.pop(next(iter(self._orders.copy()), key), None)  # another thread may have been first
            self._orders[key] = found
        return found

    def _made(self, key: int) -> _Order:
        count = self.count
        blocks = permute(np.arange(count), count, mix(key, 0))
        starts = np.concatenate([[0], np.cumsum(np.diff(self.bounds)[blocks])])
        windows = -(-count // self.window)  # all of about the same size
        firsts = np.arange(windows + 1) * count // windows
        return _Order(key, blocks, starts, starts[firsts])


def blocks_side_by_side(first: Blocks, second: Blocks, length: int) -> Blocks:
    """Return the blocks of `length` elements, at least one, each a pair of elements of `first` and `second`.

    >>> blocks_side_by_side(Blocks(np.array([0, 4, 8]), 2), Blocks(np.array([0, 3, 6]), 3), 6).bounds.tolist()
    [0, 3, 4, 6]
    """
    bounds = np.union1d(first.bounds, second.bounds)
    return Blocks(np.append(bounds[bounds < length], length), min(first.window, second.window))


def blocks_end_to_end(first: Blocks, second: Blocks) -> Blocks:
    """Return the blocks of the elements of `first`, followed by those of `second`.

    >>> blocks_end_to_end(Blocks(np.array([0, 4]), 2), Blocks(np.array([0, 3, 6]), 3)).bounds.tolist()
    [0, 4, 7, 10]
    """
    return Blocks(np.concatenate([first.bounds, second.bounds[1:] + first.length]), min(first.window, second.window))


def even(length: int, size: int, window: int) -> Blocks:
    """Return blocks of `size` positions; the last may be shorter.

    >>> even(5, 2, 8).bounds.tolist()
    [0, 2, 4, 5]
    """
    return Blocks(np.append(np.arange(0, length, size), length), window)

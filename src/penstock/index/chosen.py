"""Rows of `choose_from_datasets`: known choices, counted once, so that any slot can be looked up."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from penstock.core.arrays import Rows
from penstock.core.frozen import frozen
from penstock.index.mixed import ENDLESS


class Chosen:
    """The input and its row of each slot of an epoch, by listed `choices`, made once or repeated `endless`ly.

    Inputs have `lengths` (`None`: endless). At a choice of an empty input the epoch ends (`first`), or the choice is
    skipped.

    >>> chosen = Chosen(np.array([0, 1, 1, 0, 1]), (1, 9))
    >>> which, rank = chosen.split(np.arange(chosen.length))
    >>> which.tolist(), rank.tolist()
    ([0, 1, 1, 1], [0, 0, 1, 2])
    """

    def __init__(
        self, choices: Rows, lengths: Sequence[int | None], *, endless: bool = False, first: bool = False
    ) -> None:
        limits = np.array([ENDLESS if length is None else length for length in lengths], np.int64)
        rounds, end = (_endless if endless else _once)(choices, limits, first=first)
        self._rounds = rounds
        self._starts = [each.start for each in rounds]
        self.length = None if end == ENDLESS else end

    def split(self, slots: Rows) -> tuple[Rows, Rows]:
        """Return the input of each slot, and the number of its earlier rows: both `int64[k]`."""
        if len(self._rounds) == 1 or not len(slots):
            return self._rounds[0].split(slots)
        which, ranks = np.empty_like(slots), np.empty_like(slots)
        numbers = np.searchsorted(self._starts, slots, "right") - 1
        for number in np.unique(numbers).tolist():
            here = numbers == number
            which[here], ranks[here] = self._rounds[number].split(slots[here])
        return which, ranks

    def drawn_before(self, slot: int) -> Rows:
        """Return the number of rows of each input before a slot, `int64[n]`."""
        return self._rounds[bisect_right(self._starts, slot) - 1].drawn_before(slot)


@frozen(eq=False)
class _Round:
    """A round of p choices, repeated from slot `start` on, each of an input with rows left.

    `choices`, and `ranks` (earlier choices of the same input), have shape (p,); `counts` (choices of each input in a
    round), and `bases` (rows of each input before `start`), have shape (n,).
    """

    start: int
    choices: NDArray[np.integer]
    ranks: NDArray[np.integer]
    counts: Rows
    bases: Rows

    def split(self, slots: Rows) -> tuple[Rows, Rows]:
        if not len(slots):
            return slots, slots
        rounds, places = np.divmod(slots - self.start, len(self.choices))
        which = self.choices[places].astype(np.int64)
        return which, self.bases[which] + rounds * self.counts[which] + self.ranks[places]

    def drawn_before(self, slot: int) -> Rows:
        rounds, place = divmod(slot - self.start, max(len(self.choices), 1))
        return self.bases + rounds * self.counts + np.bincount(self.choices[:place], minlength=len(self.counts))

    def slot_of(self, rows: Rows) -> int:
        """Return the first slot that draws row `rows[i]` of any input i; `ENDLESS` if there is none."""
        order = np.argsort(self.choices, kind="stable")
        begins = np.cumsum(self.counts) - self.counts
        slots: list[int] = []
        for row, count, begin in zip((rows - self.bases).tolist(), self.counts.tolist(), begins.tolist(), strict=True):
            if count and row < ENDLESS // 2:
                slots.append(self.start + row // count * len(order) + int(order[begin + row % count]))
        return min(slots, default=ENDLESS)


def _round(start: int, choices: Rows, bases: Rows) -> _Round:
    """Return the round of these choices; choices and ranks use small integers, since there may be millions."""
    order = np.argsort(choices, kind="stable")
    counts = np.bincount(choices, minlength=len(bases))
    ranks = np.empty(len(choices), np.int32)
    ranks[order] = np.arange(len(choices)) - np.repeat(np.cumsum(counts) - counts, counts)
    return _Round(start, choices.astype(np.min_scalar_type(len(bases))), ranks, counts, bases)


def _once(choices: Rows, limits: Rows, *, first: bool) -> tuple[list[_Round], int]:
    """Return the round of choices made once, and their number."""
    counted = _round(0, choices, np.zeros_like(limits))
    missing = counted.ranks >= limits[choices]
    if not missing.any():
        return [counted], len(choices)
    kept = choices[: int(np.argmax(missing))] if first else choices[~missing]
    return [_round(0, kept, counted.bases)], len(kept)


def _endless(choices: Rows, limits: Rows, *, first: bool) -> tuple[list[_Round], int]:
    """Return the rounds of endless choices: one until an input is empty, then one without that input, and so on."""
    if first:
        only = _round(0, choices, np.zeros_like(limits))
        return [only], only.slot_of(limits)
    rounds: list[_Round] = []
    start, at, bases = 0, 0, np.zeros_like(limits)  # `at`: the next choice
    while True:
        turned = np.roll(choices, -at)
        kept = np.flatnonzero(bases[turned] < limits[turned])
        rounds.append(_round(start, turned[kept], bases))
        if not len(kept):
            return rounds, start
        last = rounds[-1].slot_of(np.minimum(limits, ENDLESS) - (limits < ENDLESS))
        if last == ENDLESS:
            return rounds, ENDLESS
        at = (at + int(kept[(last - start) % len(kept)]) + 1) % len(choices)
        bases, start = rounds[-1].drawn_before(last + 1), last + 1

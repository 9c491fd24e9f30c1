"""Plan a mixture, one page at a time: segments of slots between changes of weights or ends of inputs."""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from penstock.core.arrays import Rows
from penstock.core.errors import PlanError
from penstock.core.frozen import frozen
from penstock.index.keyed import Words
from penstock.index.mixed import ENDLESS, Timetable, drawn_before, leaves, lefts, mixed
from penstock.index.weights import Weights

PAGE = 256  # segments planned together
MOST_PAGES = 16  # kept in memory; others are planned again on request
MOST_SEGMENTS = 1 << 20  # limit for the end of a finite mixture
MOST_EMPTY = 1 << 16  # consecutive changes of weights that leave nothing to draw


@frozen(eq=False)
class _State:
    """The state at the beginning of a segment: its slot, and the totals before.

    `ahead` is the number of slots by which weights have changed early, because nothing else was left to draw. Each node
    of the tree carries a rounding remainder of `owed / of` slots, both `int64[m]`, into the segment.
    """

    slot: int
    counts: Rows
    owed: Rows
    of: Rows
    number: int = 0
    ahead: int = 0
    over: bool = False


@frozen(eq=False)
class _Segment:
    weights: Rows
    phases: Rows
    sizes: Rows


class Schedule:
    """The input of each slot of an epoch, for inputs of finite `lengths` (`None`: endless).

    When an input runs out, the epoch ends (`first`) at the slot that would draw from it, or the others continue in
    proportion to their weights until all are empty. `without` are inputs that are never drawn, and `begin` is the slot
    whose weights the first slot has.

    Segments are planned on demand and kept in pages, so memory is bounded; a row far from recent ones costs the
    planning of its page: about 20 ms with weights that change at every 1,024th row.

    >>> from penstock.index.weights import Steady
    >>> which, rank = Schedule(Steady((2.0, 1.0)), (2, 3)).split(np.arange(5))
    >>> which.tolist(), rank.tolist()
    ([0, 1, 0, 1, 1], [0, 0, 1, 1, 2])
    """

    def __init__(
        self,
        weights: Weights,
        lengths: Sequence[int | None],
        *,
        first: bool = False,
        without: Sequence[int] = (),
        begin: int = 0,
    ) -> None:
        self._arguments = (weights, tuple(lengths), first, tuple(without), begin)
        self._weights = weights
        self._lengths = np.array([ENDLESS if length is None else length for length in lengths], np.int64)
        self._first = first
        self._drawable = np.ones(len(self._lengths), np.bool_)
        self._drawable[list(without)] = False
        width = 1 << (len(self._lengths) - 1).bit_length()
        self._leaves = width + leaves(width)[: len(self._lengths)]
        halves = np.ones(width, np.int64)
        begins = _State(0, np.zeros(len(self._lengths), np.int64), halves, 2 * halves, ahead=begin)
        self._begins = [begins]  # of each planned page, and of the next
        self._pages: OrderedDict[int, Timetable] = OrderedDict()
        self._lock = threading.RLock()

    def __reduce__(self) -> tuple[Any, ...]:
        return _schedule, self._arguments

    @property
    def length(self) -> int | None:
        """The slots of an epoch; `None` if endless."""
        endless = self._lengths == ENDLESS
        if endless.all() or (endless.any() and not self._first and not self._weights.settle):
            return None
        with self._lock:
            while not self._begins[-1].over:
                self.timetable(len(self._begins) - 1)
                if self._begins[-1].number > MOST_SEGMENTS:
                    raise PlanError(
                        f"after {self._begins[-1].slot:,} rows no dataset of the mixture has run out; "
                        "pass stop='never', or weights that draw from the datasets that end"
                    )
            end = self._begins[-1].slot
        return None if end == ENDLESS else end

    def within(self, slots: Rows) -> Rows:
        """Return the slots before the end of the epoch, of these consecutive slots."""
        self._plan_to(int(slots[-1]))
        end = self._begins[-1]
        return slots[: max(end.slot - int(slots[0]), 0)] if end.over else slots

    def split(self, slots: Rows, key: Words | int | None = None) -> tuple[Rows, Rows]:
        """Return the input of each slot, and the number of its earlier rows, as `mixed` does; both `int64[k]`."""
        pages = self._pages_of(slots)
        if len(pages) == 1:
            return mixed(slots, pages[0][1], key)
        which, ranks = np.empty_like(slots), np.empty_like(slots)
        for here, page in pages:
            keys = key[here] if isinstance(key, np.ndarray) and key.ndim else key
            which[here], ranks[here] = mixed(slots[here], page, keys)
        return which, ranks

    def drawn_before(self, slot: int, key: int | None = None) -> Rows:
        """Return the number of rows of each input before a slot, `int64[n]`."""
        (_, page), *_ = self._pages_of(np.array([slot]))
        end = self._begins[-1]
        return end.counts if end.over and slot == end.slot else drawn_before(slot, page, key)

    def timetable(self, page: int) -> Timetable:
        """Return the segments of one page; plan all pages before it first, in order."""
        with self._lock:
            if page not in self._pages:
                self._pages[page], end = self._planned(self._begins[page])
                if page + 1 == len(self._begins):
                    self._begins.append(end)
                if len(self._pages) > MOST_PAGES:
                    self._pages.popitem(last=False)
            self._pages.move_to_end(page)
            return self._pages[page]

    def _pages_of(self, slots: Rows) -> list[tuple[Any, Timetable]]:
        """Return the pages of these slots, each with the slots in it."""
        if not len(slots):
            return [(slice(None), self.timetable(0))]
        self._plan_to(int(slots.max()))
        with self._lock:
            starts = [begin.slot for begin in self._begins[:-1]]
        low, high = (bisect_right(starts, int(slot)) - 1 for slot in (slots.min(), slots.max()))
        if low == high:
            return [(slice(None), self.timetable(low))]
        pages = np.searchsorted(starts, slots, "right") - 1
        return [(pages == page, self.timetable(page)) for page in np.unique(pages).tolist()]

    def _plan_to(self, slot: int) -> None:
        """Plan the pages up to that of a slot, or all."""
        with self._lock:
            while not self._begins[-1].over and self._begins[-1].slot <= slot:
                self.timetable(len(self._begins) - 1)

    def _planned(self, begin: _State) -> tuple[Timetable, _State]:
        state, states, segments = begin, list[_State](), list[_Segment]()
        while not state.over and len(segments) < PAGE:
            segment, after = self._next(state)
            if segment is not None:
                states.append(state)
                segments.append(segment)
            state = after
        width = len(begin.owed)
        timetable = Timetable(
            starts=np.array([each.slot for each in states], np.int64),
            weights=np.array([each.weights for each in segments], np.int64).reshape(-1, 2 * width),
            phases=np.array([each.phases for each in segments], np.int64).reshape(-1, width),
            sizes=np.array([each.sizes for each in segments], np.int64).reshape(-1, 2 * width),
            bases=np.array([each.counts for each in states], np.int64).reshape(-1, len(begin.counts)),
            first=begin.number,
        )
        return timetable, state

    def _next(self, at: _State) -> tuple[_Segment | None, _State]:
        left = np.where(self._lengths == ENDLESS, ENDLESS, self._lengths - at.counts)
        inputs, ahead, gap = self._weights_at(at, left)
        if not inputs.any():
            return None, replace(at, over=True)
        weights = _sums(inputs, self._leaves)
        nodes = weights[: len(at.owed)]
        phases = np.where(nodes > 0, at.owed * nodes // at.of, 0)
        size = self._size(weights, phases, left, gap)
        sizes = _sizes(size, weights, phases)
        if size == 0:
            return None, replace(at, over=True)
        return _Segment(weights, phases, sizes), _State(
            slot=ENDLESS if size == ENDLESS else at.slot + size,
            counts=at.counts + sizes[self._leaves],
            owed=np.where(nodes > 0, _rest(weights, phases, sizes), at.owed),
            of=np.where(nodes > 0, nodes, at.of),
            number=at.number + 1,
            ahead=ahead,
            over=size == ENDLESS or (self._first and size < gap),
        )

    def _weights_at(self, at: _State, left: Rows) -> tuple[Rows, int, int]:
        """Return the weights of drawable inputs, the new `ahead`, and the number of slots to the next change."""
        drawable = self._drawable if self._first else self._drawable & (left > 0)
        ahead = at.ahead
        for _ in range(MOST_EMPTY if drawable.any() else 1):
            weights, change = self._weights.at(at.slot + ahead)
            weights = np.where(drawable, weights, 0)
            gap = ENDLESS if change is None else change - (at.slot + ahead)
            if weights.any() or change is None:
                return weights, ahead, gap
            ahead = change - at.slot
        if not drawable.any():
            return np.zeros_like(left), ahead, ENDLESS
        raise PlanError(
            f"at row {at.slot:,} of the mixture all datasets that are not empty have weight 0, for the "
            f"next {MOST_EMPTY:,} changes of the weights; give one of them a positive weight"
        )

    def _size(self, weights: Rows, phases: Rows, left: Rows, gap: int) -> int:
        """Return the number of slots until an input runs out, at most `gap`."""
        reached = _sizes(gap, weights, phases)[self._leaves]
        if (reached <= left).all():
            return gap
        short = np.flatnonzero(reached > left)
        short = short[_may_be_first(left[short], weights[self._leaves[short]] / weights[1])]
        last = left[short] if self._first else left[short] - 1
        slot = _soonest(dict(zip(self._leaves[short].tolist(), last.tolist(), strict=True)), weights, phases)
        return slot if self._first else slot + 1


def _schedule(
    weights: Weights, lengths: tuple[int | None, ...], first: bool, without: tuple[int, ...], begin: int
) -> Schedule:
    return Schedule(weights, lengths, first=first, without=without, begin=begin)


def _sums(inputs: Rows, places: Rows) -> Rows:
    """Return the weight sums below each node of a tree with weights `inputs` at the leaves `places`: `int64[2m]`."""
    width = 1 << (len(inputs) - 1).bit_length()
    sums = np.zeros(2 * width, np.int64)
    sums[places] = inputs
    while width > 1:
        width //= 2
        sums[width : 2 * width] = sums[2 * width : 4 * width : 2] + sums[2 * width + 1 : 4 * width : 2]
    return sums


def _sizes(size: int, weights: Rows, phases: Rows) -> Rows:
    """Return the number of the first `size` slots that reach each node, `int64[2m]`."""
    sizes = np.zeros_like(weights)
    sizes[1] = size
    width = 1
    while width < len(phases):
        nodes = np.arange(width, 2 * width)
        whole = np.maximum(weights[nodes], 1)
        sizes[2 * nodes] = lefts(sizes[nodes], weights[2 * nodes], whole, phases[nodes])
        sizes[2 * nodes + 1] = sizes[nodes] - sizes[2 * nodes]
        width *= 2
    return sizes


def _rest(weights: Rows, phases: Rows, sizes: Rows) -> Rows:
    """Return the rounding remainder of each node after `sizes` slots, with the left ones rounded down."""
    nodes = np.arange(len(phases))
    whole = np.maximum(weights[nodes], 1)
    return (sizes[nodes] % whole * weights[2 * nodes] + phases) % whole


def _may_be_first(left: Rows, shares: np.ndarray) -> np.ndarray:
    """Return a mask of the inputs that may run out first, `bool[n]`, by an estimate cheaper than the exact slots."""
    slots, wide = left / shares, 64 / shares  # a row deviates by one for each of fewer than 64 levels
    slack = wide + 1e-9 * slots
    return slots - slack <= (slots + slack).min()


def _soonest(ranks: dict[int, int], weights: Rows, phases: Rows) -> int:
    """Return the first slot that draws row `rank` of any of these leaves, in Python's integers."""
    while 1 not in ranks:
        above: dict[int, int] = {}
        for node, rank in ranks.items():
            parent = node // 2
            whole, phase, share = int(weights[parent]), int(phases[parent]), int(weights[node])
            if node % 2:  # slots that go right are rounded the other way
                phase = whole - 1 - phase
            slot = -(-((rank + 1) * whole - phase) // share) - 1
            above[parent] = min(slot, above.get(parent, slot))
        ranks = above
    return ranks[1]

"""Rows of a mixture: the input of each slot of an epoch, and the number of its rows drawn before.

The inputs are the leaves of a binary tree. At each inner node, of the first `s` slots that reach it, `s * a / b` go
left, rounded to the nearest, where `a` and `b` are the weights below its left child and below itself. The way of a slot
down the tree, and its rank among slots with the same way, take a few divisions for each level: any slot can be looked
up alone, and no window deviates from its share by more than one slot for each level.

The *random* order moves slots within blocks of 16, 256 and 4,096 of each node: a block has as many left slots as in the
even order, distributed evenly among its 16 parts; the parts that get one more are chosen at random. Slots with the same
way keep their order, so each input is still read in order.
"""

from __future__ import annotations

from functools import cache
from math import comb
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from penstock.core.arrays import Rows
from penstock.core.cached import cached_property
from penstock.core.frozen import frozen
from penstock.index.keyed import Words, mix_each

ENDLESS = 1 << 62
"""The number of slots of an endless segment."""


@frozen(eq=False)
class Timetable:
    """Segments of slots between which weights change, over a tree of m leaves (a power of two) for n inputs.

    Segment i begins at slot `starts[i]`. The tree is a heap: 1 is the root, 2j and 2j + 1 are the children of j, and m
    + `leaves(m)[i]` is the leaf of input i. For each segment, `weights` are the sums below each node (under 2**31, so
    that products of two fit) and `sizes` the slots that reach it, shapes (s, 2m); `phases`, shape (s, m), are added
    before rounding down; `bases`, shape (s, n), are the rows of each input drawn before. `first` is the number of the
    first segment: keys depend on it.
    """

    starts: Rows
    weights: Rows
    phases: Rows
    sizes: Rows
    bases: Rows
    first: int = 0

    @cached_property
    def width(self) -> int:
        """The number of leaves of the tree."""
        return self.phases.shape[1]

    @cached_property
    def inputs(self) -> Rows:
        """The input of each leaf, `int64[m]`."""
        return np.argsort(leaves(self.width))


def leaves(width: int) -> Rows:
    """Return the leaf of each input: its number with bits reversed, so that inputs of equal weight alternate in order.

    >>> leaves(4).tolist()
    [0, 2, 1, 3]
    """
    order = np.zeros(1, np.int64)
    while len(order) < width:
        order = np.concatenate([2 * order, 2 * order + 1])
    return order


def mixed(slots: Rows, timetable: Timetable, key: Words | int | None = None) -> tuple[Rows, Rows]:
    """Return the input of each slot of an epoch, and the number of earlier rows of that input: both `int64[k]`.

    Without a key, slots are distributed as evenly as possible; with one key, or an array of one for each slot, at
    random.

    >>> from penstock.index.timetable import Schedule
    >>> from penstock.index.weights import Steady
    >>> which, rank = mixed(np.arange(8), Schedule(Steady((3.0, 1.0)), (6, 2)).timetable(0))
    >>> which.tolist(), rank.tolist()
    ([0, 0, 1, 0, 0, 0, 1, 0], [0, 1, 0, 2, 3, 4, 1, 5])
    """
    segments = _segments(slots, timetable)
    ranks, nodes = slots - timetable.starts[segments], np.ones(len(slots), np.int64)
    while len(nodes) and nodes[0] < timetable.width:  # all slots are on the same level
        before, goes_left = _part(ranks, nodes, segments, timetable, key)
        ranks = np.where(goes_left, before, ranks - before)
        nodes = 2 * nodes + ~goes_left
    inputs = timetable.inputs[nodes - timetable.width]
    return inputs, ranks + timetable.bases[segments, inputs]


def drawn_before(slot: int, timetable: Timetable, key: int | None = None) -> Rows:
    """Return the number of rows of each input before a slot of an epoch, `int64[n]`."""
    width, segment = timetable.width, int(np.searchsorted(timetable.starts, slot, "right")) - 1
    reached = np.zeros(2 * width, np.int64)  # earlier slots at each node
    reached[1] = slot - timetable.starts[segment]
    nodes = np.ones(1, np.int64)
    while nodes[0] < width:
        before, _ = _part(reached[nodes], nodes, segment, timetable, key)
        reached[2 * nodes], reached[2 * nodes + 1] = before, reached[nodes] - before
        nodes = np.arange(2 * nodes[0], 4 * nodes[0])
    bases = timetable.bases[segment]
    return bases + reached[width + leaves(width)[: len(bases)]]


def lefts(slots: Rows, left: Rows, whole: Rows, phase: Rows) -> Rows:
    """Return the number of a node's first `slots` that go left: `(slots * left + phase) // whole`, without overflow."""
    rounds, rest = np.divmod(slots, whole)
    return rounds * left + (rest * left + phase) // whole


def _segments(slots: Rows, timetable: Timetable) -> Rows | int:
    if len(timetable.starts) == 1:
        return 0
    return np.searchsorted(timetable.starts, slots, "right") - 1


def _part(
    slots: Rows, nodes: Rows, segments: Rows | int, timetable: Timetable, key: Words | int | None
) -> tuple[Rows, NDArray[np.bool_]]:
    """Return a mask of the slots that reach a node and go left, and the number of earlier ones that do."""
    left, whole = timetable.weights[segments, 2 * nodes], np.maximum(timetable.weights[segments, nodes], 1)
    phase = timetable.phases[segments, nodes]
    if key is None:
        rounds, rest = np.divmod(slots, whole)
        more, rest = np.divmod(rest * left + phase, whole)
        return rounds * left + more, rest + left >= whole
    numbers = np.asarray(segments + timetable.first)
    keys = mix_each(mix_each(key, numbers), nodes)
    sizes = timetable.sizes[segments, nodes]
    bits = np.where(slots >> 12 < sizes >> 12, 12, np.where(slots >> 8 < sizes >> 8, 8, 4))
    low = slots >> bits << bits
    before = lefts(low, left, whole, phase)
    within = lefts(np.minimum(low + (1 << bits), sizes), left, whole, phase) - before
    return _scattered(slots, (bits, before, within), np.minimum(sizes - (slots >> 4 << 4), 16), keys)


def _scattered(
    slots: Rows, block: tuple[Rows, Rows, Rows], smallest: Rows, keys: Words
) -> tuple[Rows, NDArray[np.bool_]]:
    """Return a mask of the slots that go left, and the number of earlier ones, in random order within their block.

    The `block` of each slot has `2**bits` slots; `before` and `within` are the numbers of left slots before and in the
    block. The last block of 16 of a node may be smaller: it has `smallest` slots.
    """
    bits, before, within = block
    subsets = _subsets()
    for scale in (12, 8, 4):
        inside = bits >= scale
        parts = 16 if scale > 4 else smallest
        share, over = within >> 4, within & 15  # each part has `share` left slots, and `over` of the parts one more
        draw = mix_each(keys, (slots >> scale) * 4 + scale // 4) % subsets.number[parts, over]
        chosen = subsets.bits[subsets.begin[over] + draw.astype(np.int64)]
        part = slots >> (scale - 4) & 15
        earlier = subsets.size[chosen & ((1 << part) - 1)]
        before = np.where(inside, before + part * share + earlier, before)
        within = np.where(inside, share + (chosen >> part & 1), within)
    return before, within > 0


class _Subsets(NamedTuple):
    """Sets of up to 16 parts as bits: `bits[begin[k]:]` are those of k parts; `number[p, k]` lie in the first p."""

    size: Rows
    bits: Rows
    begin: Rows
    number: Words


@cache
def _subsets() -> _Subsets:
    size = np.zeros(1, np.int64)
    for _ in range(16):
        size = np.concatenate([size, size + 1])
    bits = np.argsort(size, kind="stable")
    number = [[max(comb(parts, k), 1) for k in range(17)] for parts in range(17)]
    return _Subsets(size, bits, np.searchsorted(size[bits], np.arange(17)), np.array(number, np.uint64))

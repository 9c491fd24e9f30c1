"""Permute the elements of a stream in a buffer that is bounded in bytes."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

import numpy as np

from penstock.core.arrays import Allocate, Rows
from penstock.core.budget import Account, Told, unlimited
from penstock.core.errors import CursorError
from penstock.core.frozen import frozen
from penstock.core.seeds import mix
from penstock.elements.chunks.chunk import Items, concat
from penstock.elements.chunks.held import HeldElements
from penstock.elements.size import sizes_of
from penstock.index.keyed import mix_each
from penstock.ops.order.lanes import shuffle_piece
from penstock.ops.order.shuffle import Shuffle
from penstock.plan.flow import BEYOND, Flow, Mark, Open, Piece, Reader, join_pieces, resumed

_FIRST, _WAITS, _OUT, _TAIL = range(4)  # purposes of the keys derived from an epoch's key
_LONGEST = 7  # maximum number of halvings of the elements that still wait
_NEVER = (1 << 63) - 1
_LARGEST = 1 << 58  # larger buffers are equivalent: times are `int64`


@frozen()
class ShuffleBytes(Shuffle):
    """Permute the elements of a stream, holding up to one and a half times `buffer` bytes of them."""

    buffer: int

    @property
    def name(self) -> str:
        return "shuffle"

    def flow(
        self, inputs: tuple[Open, ...], epoch: int, mark: Mark, allocate: Allocate, account: Account | None = None
    ) -> Flow:
        """Yield the order of a buffer that keeps the elements that are due last.

        An element is due some time after its arrival, drawn by a hash of its ordinal; time is counted in arrived bytes.
        After each round of a quarter of the buffer, the elements due last stay, as many as fit; the others leave,
        permuted, and from then on every element due no later than these leaves at once. So the waiting elements are
        those that arrived since some round and are due later than some time, and a mark holds only these two values.
        """
        if self.seed is None:
            raise RuntimeError("a shuffle without a seed reached the compiler; run bind_seeds first")
        (source,) = inputs
        key, times = mix(self.seed, epoch if self.reshuffle else 0), _Times(min(self.buffer, _LARGEST))
        ordinal, taken, known, gone, begin = resumed(mark, (0, 0, 0, 0, None))
        known += ordinal  # elements before this one have left or wait
        first = 1 + mix(key, _FIRST) % times.round  # rounds begin at a different position in every epoch
        waiting, starts = _Waiting(), deque[list[Mark]]()
        account = account or unlimited()
        with Reader(source, epoch, begin) as reader, account:
            for piece, sizes, at in _rounds(reader, times.round if ordinal else first, times.round):
                starts.append([ordinal, taken, at])
                waiting.put(piece, sizes, times.due(mix(key, _WAITS), ordinal, taken, sizes), ordinal)
                ordinal, taken = ordinal + len(piece), taken + int(sizes.sum())
                account.hold(waiting.nbytes, self._told)
                del piece  # `waiting` holds the elements and releases those that leave
                if ordinal > known:
                    gone = max(gone, waiting.latest_to_leave(times.kept))
                left = waiting.take(gone)
                oldest = waiting.oldest(ordinal)
                while len(starts) > 1 and starts[1][0] <= oldest:
                    starts.popleft()
                if ordinal > known and len(left):
                    since, bytes_before, begin = starts[0]
                    yield shuffle_piece(
                        left, mix(key, _OUT, ordinal), [since, bytes_before, ordinal - since, gone, begin]
                    )
                del left
            if ordinal < known:
                raise CursorError(BEYOND)
            if len(rest := waiting.take(_NEVER)):
                yield shuffle_piece(rest, mix(key, _TAIL), [ordinal, taken, 0, gone, reader.mark])

    def _told(self) -> Told:
        held = self.buffer + self.buffer // 2
        return f"{self.label()} holds up to {held:,} bytes of elements", "reduce buffer_bytes="

    def redone(self) -> str:
        held = self.buffer + self.buffer // 2
        return f"makes up to {_Times(self.buffer).replayed:,} bytes of elements again; it holds up to {held:,}"

    def mixing(self) -> str:
        held = self.buffer + self.buffer // 2
        return (
            f"as a buffer of {self.buffer:,} bytes does: an element comes up to {held:,} bytes earlier or up to "
            f"{_Times(self.buffer).replayed:,} later; elements that are further apart stay apart"
        )

    def arguments(self) -> str:
        others = super().arguments()
        return f"buffer_bytes={self.buffer}" + (f", {others}" if others else "")


class _Times:
    """The times that elements stay in a buffer that is bounded in bytes, counted in bytes that arrive meanwhile.

    The distribution is nearly exponential: the time ends in each stretch of `halving` with probability 1/2, uniformly
    within it, and its mean is one and a half stretches, which is the size kept. Only powers of two are used, so the
    result is the same on every machine.
    """

    def __init__(self, buffer: int) -> None:
        self.kept = buffer + buffer // 8  # between two rounds
        self.halving = buffer * 3 // 4
        self.pool = buffer - buffer // 8  # in which elements are due as if all arrived at its end
        self.round = max(buffer // 4, 1)

    @property
    def replayed(self) -> int:
        """The maximum number of bytes that are made again after restoring a mark."""
        return self.pool + _LONGEST * self.halving + self.kept + self.round

    def due(self, key: int, ordinal: int, taken: int, sizes: Rows) -> Rows:
        """Return the times at which the elements after `ordinal` others, of `taken` bytes, are due; 0 if none fits."""
        words = mix_each(key, np.arange(ordinal, ordinal + len(sizes)))
        part, power = np.frexp(((words >> np.uint64(11)) + np.uint64(1)).astype(np.float64))  # of (0, 2**53]
        waits = np.minimum(55 - power - 2 * part, _LONGEST) * float(self.halving)
        came = np.maximum(taken + np.cumsum(sizes) - sizes, self.pool)
        return np.where(sizes > self.kept, 0, came + waits.astype(np.int64))


class _Waiting:
    """The waiting elements, in places that are reused after elements leave."""

    def __init__(self) -> None:
        self._held = HeldElements(Items([]))
        self._told = np.zeros((4, 0), np.int64)  # per place: due time, bytes, ordinal and id of the element
        self._taken = np.zeros(0, bool)

    @property
    def nbytes(self) -> int:
        """The bytes of the elements."""
        return int(self._told[1, self._taken].sum())

    def put(self, piece: Piece, sizes: Rows, dues: Rows, ordinal: int) -> None:
        """Put the elements after `ordinal` others in free places; if there are too few, move all waiting elements."""
        told = np.stack([dues, sizes, np.arange(ordinal, ordinal + len(piece)), piece.ids])
        places = np.flatnonzero(~self._taken)[: len(piece)]
        if len(places) == len(piece):
            self._held.put(piece.chunk, places)
        else:
            before = np.flatnonzero(self._taken)
            both = (
                [self._held.take(before), piece.chunk] if len(before) else [piece.select(np.arange(len(piece))).chunk]
            )
            self._held = HeldElements(concat(both))
            self._told = np.concatenate([self._told[:, before], np.empty_like(told)], axis=1)
            self._taken = np.ones(self._told.shape[1], bool)
            places = np.arange(len(before), len(self._taken))
        self._told[:, places] = told
        self._taken[places] = True

    def take(self, time: int) -> Piece:
        """Return the elements that are due at `time` or before, in order of arrival."""
        places = np.flatnonzero(self._taken & (self._told[0] <= time))
        places = places[np.argsort(self._told[2, places])]
        piece = Piece(self._held.take(places), self._told[3, places])
        self._held.clear(places)
        self._taken[places] = False
        return piece

    def latest_to_leave(self, kept: int) -> int:
        """Return the due time of the last element that must leave to keep at most `kept` bytes; 0 for none."""
        dues, sizes, _, _ = self._told[:, self._taken]
        last_first = np.argsort(dues)[::-1]
        fit = int(np.searchsorted(np.cumsum(sizes[last_first]), kept, "right"))
        return int(dues[last_first[fit]]) if fit < len(dues) else 0

    def oldest(self, following: int) -> int:
        """Return the ordinal of the oldest waiting element, or `following` if none waits."""
        return int(self._told[2, self._taken].min(initial=following))


def _rounds(reader: Reader, first: int, others: int) -> Iterator[tuple[Piece, Rows, Mark]]:
    """Yield the elements in rounds that end before one has too many bytes, with sizes and each round's mark."""
    parts: list[Piece] = []
    told: list[Rows] = []
    room, begin = first, reader.mark
    for piece, mark_after in reader.runs():
        sizes = sizes_of(piece.chunk)
        ends = np.cumsum(sizes)
        low, before = 0, 0
        while low < len(piece):
            high = int(np.searchsorted(ends, before + room, "right"))
            high = high if parts else max(high, low + 1)
            if high > low:
                parts.append(piece.slice(low, high))
                told.append(sizes[low:high])
                room -= int(ends[high - 1]) - before
                low, before = high, int(ends[high - 1])
            if low < len(piece):  # the next element does not fit
                yield _closed(parts), np.concatenate(told), begin
                told, room, begin = [], others, mark_after(low)
    if parts:
        yield _closed(parts), np.concatenate(told), begin


def _closed(parts: list[Piece]) -> Piece:
    """Return the elements of all parts, and empty the list so that it no longer holds them."""
    whole = join_pieces(parts)
    parts.clear()
    return whole

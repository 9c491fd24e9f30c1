"""The elements of a stream as they come out of a shuffle buffer, in the order of `kernels.permute_within`."""

from __future__ import annotations

from collections import deque
from itertools import count

import numpy as np

from penstock.core.errors import CursorError
from penstock.core.seeds import mix
from penstock.elements.held import Held
from penstock.kernels import permute
from penstock.kernels.delays import LANES, OUT, POOL, Delays
from penstock.plan.flow import BEYOND, NO_IDS, Flow, Mark, Open, Piece, Reader, joined, resumed


def buffered(source: Open, epoch: int, mark: Mark, buffer: int, key: int) -> Flow:
    """The elements of `source` in the order that `key` and a buffer of `buffer` elements, at least 2, give them.

    A mark says how many pieces were given, and from where to read: a fixed number of rounds back, as no element waits
    longer, or the beginning.
    """
    given, begin = resumed(mark, (0, None))
    lanes = _Lanes(Delays(buffer), key)
    size, most = lanes.delays.round, len(lanes.delays.waiting)
    with Reader(source, epoch, begin) as reader:
        if given <= most:
            pool = reader.take(lanes.room)
            if pool is None or len(pool) < lanes.room:
                if given:
                    raise CursorError(BEYOND)
                if pool is not None:
                    yield permuted_piece(permuted_piece(pool, mix(key, POOL), None), lanes.out_key(0), [0, reader.mark])
                return
            head = lanes.fill(pool)
            if not given:
                yield permuted_piece(head, lanes.out_key(0), [1, begin])
        starts: deque[Mark] = deque(maxlen=most)  # of the rounds that are to be read again
        for number in count(max(given - 1 - most, 0)):
            starts.append(reader.mark)
            piece = reader.take(size)
            if piece is None or len(piece) < size:
                break
            lanes.put(piece, number)
            if number + 1 >= given:
                yield lanes.take(number, [number + 2, starts[0] if number + 1 >= most else begin])
        if number + 1 < given:
            raise CursorError(BEYOND)
        yield lanes.rest(number, piece, [0, reader.mark])


class _Lanes:
    """The elements that wait: a place for each round that the element of a lane waits, and one for that which comes.

    The first `room` elements, a pool, give the head and what waits in the lanes before the first round.
    """

    def __init__(self, delays: Delays, key: int) -> None:
        self.delays = delays
        self.room = delays.held + delays.head(key)
        self._key = key
        self._held: Held | None = None  # with the arrays below, made with the first elements
        self._ids = self._depths = self._firsts = self._spread = self._places = NO_IDS

    def out_key(self, number: int) -> int:
        """The key that the elements of a piece are permuted by; the head is piece 0."""
        return mix(mix(self._key, OUT), number)

    def fill(self, pool: Piece) -> Piece:
        """Put the elements of the pool in the lanes, but for the head."""
        order = permute(np.arange(len(pool)), len(pool), mix(self._key, POOL))
        head = len(pool) - self.delays.held
        self._begin(0)
        filled = np.zeros(self.delays.held + self.delays.round, np.int64)
        filled[self._waiting(0)] = order[head:]
        self._hold(pool.select(filled))
        return pool.select(order[:head])

    def put(self, piece: Piece, number: int) -> None:
        """Put the elements of a round in their lanes."""
        if self._held is None:  # gone on from a mark: what came before is not asked for
            self._begin(number)
            self._hold(piece.select(np.zeros(self.delays.held + self.delays.round, np.int64)))
        assert self._held is not None
        places = self._places[np.roll(self._spread, self.delays.shift(self._key, number))]
        self._held.put(piece.chunk, places)
        self._ids[places] = piece.ids
        after = self._places + 1
        self._places = np.where(after == self._firsts + self._depths, self._firsts, after)

    def take(self, number: int, after: Mark) -> Piece:
        """The elements that leave after a round, one of each lane."""
        size = self.delays.round
        return self._piece(self._places[permute(np.arange(size), size, self.out_key(number + 1))], after)

    def rest(self, number: int, piece: Piece | None, after: Mark) -> Piece:
        """All that wait when `number` rounds have come, and the elements of a piece after them."""
        waiting = self._piece(self._waiting(number), None)
        last = waiting if piece is None else joined([waiting, piece])
        return permuted_piece(last, self.out_key(number + 1), after)

    def _begin(self, number: int) -> None:
        size = self.delays.round
        self._depths = np.ones(size, np.int64)  # places of each lane
        for waiting in self.delays.waiting:
            self._depths[:waiting] += 1
        self._firsts = np.cumsum(self._depths) - self._depths
        self._places = self._firsts + number % self._depths  # the next of each lane
        spread = permute(np.arange(size), size, mix(self._key, LANES))  # the input of each lane
        self._spread = np.empty(size, np.int64)
        self._spread[spread] = np.arange(size)

    def _waiting(self, number: int) -> np.ndarray:
        """The places of all that wait when `number` rounds have come, those of the next round first."""
        rounds = enumerate(self.delays.waiting, start=number + 1)
        return np.concatenate([self._firsts[:lanes] + at % self._depths[:lanes] for at, lanes in rounds])

    def _hold(self, piece: Piece) -> None:
        self._held, self._ids = Held(piece.chunk), piece.ids

    def _piece(self, places: np.ndarray, after: Mark) -> Piece:
        assert self._held is not None
        return Piece(self._held.take(places), self._ids[places], after)


def permuted_piece(piece: Piece, key: int, after: Mark) -> Piece:
    """The elements of a piece in the order of `key`."""
    chosen = piece.select(permute(np.arange(len(piece)), len(piece), key))
    return Piece(chosen.chunk, chosen.ids, after)

"""Yield the elements of a stream through a shuffle buffer, in the order of `kernels.permute_within`."""

from __future__ import annotations

from collections import deque
from operator import mul

import numpy as np

from penstock.core.arrays import Rows
from penstock.core.budget import Account, Told, unlimited
from penstock.core.delays import HEAD, LANES, OUT, POOL, SHIFT, TAIL, Delays
from penstock.core.errors import CursorError
from penstock.core.seeds import mix
from penstock.elements.chunks.held import HeldElements
from penstock.elements.footprint import memory_of
from penstock.index.keyed import mix_each
from penstock.kernels import permute, permute_rows
from penstock.plan.flow import BEYOND, Flow, Mark, Open, Piece, Reader, join_pieces, resumed
from penstock.plan.ids import NO_IDS

_AT_ONCE = 512
"""Elements to move at once if rounds are smaller and enough are ready: 3 times as fast with a buffer of 100."""


def shuffle_buffered(
    source: Open, epoch: int, mark: Mark, buffer: int, key: int, account: Account | None = None
) -> Flow:
    """Yield the elements of `source` in the order set by `key` and a buffer of `buffer` elements, at least 2.

    A mark holds the number of rounds yielded, counted from 1, and the mark to read from: a fixed number of rounds back,
    because no element waits longer, or the beginning if the initial pool has to be filled. The elements that wait are
    counted in `account`.
    """
    given, begin = resumed(mark, (0, None))
    delays = Delays(buffer)
    most, size = len(delays.waiting), delays.round
    account = account or unlimited()
    with Reader(source, epoch, begin) as reader, account:
        at_once = max(min(_AT_ONCE, reader.ready()) // size, 1)
        lanes = _Lanes(delays, buffer, key, at_once, account)
        if given <= most:
            pool = lanes.read_pool(reader)
            if pool is None or len(pool) < lanes.pool:
                if given:
                    raise CursorError(BEYOND)
                if pool is not None:
                    yield shuffle_piece(shuffle_piece(pool, mix(key, POOL)), mix(key, HEAD), [0, reader.mark])
                return
            head = lanes.fill(pool)
            del pool  # the lanes hold its elements and release those that leave
            if not given:
                yield shuffle_piece(head, mix(key, HEAD), [1, begin])
            del head
        starts: deque[Mark] = deque(maxlen=most)  # marks of the rounds to be read again
        again = max(given - 1, 0)
        number = max(again - most, 0)
        while True:
            most_at_once = min(at_once, again - number if number < again else at_once) if number >= most else 1
            rounds = max(min(reader.ready(size) // size, most_at_once), 1)
            before, at = reader.mark  # all elements of several rounds are ready
            piece = reader.take(rounds * size)
            if piece is None or len(piece) < rounds * size:
                break
            starts.extend([before, at + i * size] for i in range(rounds))
            lanes.put(piece, number)
            del piece
            number += rounds
            if number > again:
                yield lanes.take(number - rounds, number, [number + 1, starts[0] if number >= most else begin])
        if number < again:
            raise CursorError(BEYOND)
        yield lanes.rest(number, piece, [0, reader.mark])


def shuffle_piece(piece: Piece, key: int, after: Mark = None) -> Piece:
    """Return the elements of a piece in the order of `key`."""
    chosen = piece.select(permute(np.arange(len(piece)), len(piece), key))
    return Piece(chosen.chunk, chosen.ids, after)


class _Lanes:
    """The waiting elements: each lane has places for its rounds of delay and for the rounds of one call.

    Their bytes are counted in `account`: an element stays in its place until another replaces it.
    """

    def __init__(self, delays: Delays, buffer: int, key: int, at_once: int, account: Account) -> None:
        self._account = account
        self._buffer = buffer
        self._count = 0  # elements counted
        self.pool = delays.pool + delays.head(key)
        self._delays = delays
        self._key = key
        self._at_once = at_once
        self._held: HeldElements | None = None  # allocated with the first elements, like the arrays below
        self._ids = self._depths = self._firsts = self._ends = self._spread = NO_IDS
        self._latest = (-2, NO_IDS)  # places of all lanes in one round
        self._counts: list[int] = []  # places of the last round, of the one before, and so on
        self._sizes: deque[float] = deque()  # bytes of an element of these rounds
        self._alike = 0  # rounds of late whose elements have the same size

    def read_pool(self, reader: Reader) -> Piece | None:
        """Return the elements of the pool, or as many as there are; `None` if there are none."""
        parts: list[Piece] = []
        missing = self.pool
        while missing and (part := reader.read(missing, missing)) is not None:
            parts.append(part)
            missing -= len(part)
            self._hold_bytes(self._account.nbytes + memory_of(part.chunk), self.pool - missing)
        return join_pieces(parts) if parts else None

    def _count_bytes(self, nbytes: float, rounds: int) -> None:
        """Count the elements of rounds, each of these bytes, instead of those that they replace."""
        is_same = nbytes == self._sizes[0]
        if is_same and self._alike >= len(self._counts):  # as all that wait
            return
        self._alike = self._alike + rounds if is_same else rounds
        self._sizes.extendleft([nbytes] * rounds)
        self._hold_bytes(int(sum(map(mul, self._counts, self._sizes))), len(self._ids))

    def _hold_bytes(self, nbytes: int, elements: int) -> None:
        self._count = elements
        self._account.hold(nbytes, self._told)

    def _told(self) -> Told:
        buffer, nbytes = self._buffer, self._account.nbytes
        holds = (
            f"{self._account.name} holds {self._count:,} elements of about {nbytes // max(self._count, 1):,} bytes "
            f"({nbytes:,} in all; a buffer of {buffer:,} elements holds up to {buffer + buffer // 2:,})"
        )
        return (
            holds,
            "shuffle with a smaller buffer, shuffle smaller elements, such as encoded ones, or use buffer_bytes=",
        )

    def fill(self, pool: Piece) -> Piece:
        """Put the pool's elements in the lanes of the first rounds; return those that leave before."""
        order = permute(np.arange(len(pool)), len(pool), mix(self._key, POOL))
        head = len(pool) - self._delays.pool
        self._begin(self._account.nbytes / len(pool))
        filled = np.zeros(int(self._depths.sum()), np.int64)
        filled[self._waiting(0)] = order[head:]
        self._hold(pool.select(filled))
        return pool.select(order[:head])

    def put(self, piece: Piece, number: int) -> None:
        """Put the elements of rounds in their lanes, from round `number` on."""
        held = self._held
        if held is None:  # restored from a mark: earlier elements are not needed
            self._begin(0)
            held = self._hold(piece.select(np.zeros(int(self._depths.sum()), np.int64)))
        size, rounds = self._delays.round, len(piece) // self._delays.round
        shifts = mix_each(mix(mix(self._key, SHIFT)), np.arange(number, number + rounds)).astype(np.int64)
        lanes = self._spread[(np.arange(size) - shifts[:, None]) & (size - 1)]  # (rounds, size)
        places = self._places(number, lanes)
        held.put(piece.chunk, places)
        self._ids[places] = piece.ids
        self._count_bytes(memory_of(piece.chunk) / len(piece), rounds)

    def take(self, low: int, high: int, after: Mark) -> Piece:
        """Return the elements that leave after the rounds `low` to `high`, one from each lane that has one."""
        empty = self._delays.empty(low)  # in the first rounds, each of which is taken alone
        count = self._delays.round - empty
        rows = permute_rows(np.arange(low * count, high * count), count, mix(self._key, OUT)).reshape(-1, count)
        lanes = rows - np.arange(low * count, high * count, count)[:, None] + empty
        # after round r, the oldest element has the place of the element of round r + at_once
        return self._piece(self._places(low + self._at_once, lanes), after)

    def _places(self, number: int, lanes: Rows) -> Rows:
        """Return the places of the elements of lanes, `int64[rounds, size]`, in the rounds from `number` on."""
        if len(lanes) > 1:
            rounds = np.arange(number, number + len(lanes))[:, None]
            return (self._firsts[lanes] + rounds % self._depths[lanes]).reshape(-1)
        at, places = self._latest
        if at + 1 == number:  # several times as fast as dividing
            places = places + 1
            np.copyto(places, self._firsts, where=places == self._ends)
        elif at != number:
            places = self._firsts + number % self._depths
        self._latest = number, places
        return places[lanes[0]]

    def rest(self, number: int, piece: Piece | None, after: Mark) -> Piece:
        """Return all elements that wait after `number` rounds, then the elements of a piece."""
        waiting = self._piece(self._waiting(number), None)
        return shuffle_piece(waiting if piece is None else join_pieces([waiting, piece]), mix(self._key, TAIL), after)

    def _begin(self, nbytes: float) -> None:
        """Find the places of each lane; the elements that are in them have this size."""
        size = self._delays.round
        self._counts = [size] * self._at_once + self._delays.waiting
        self._sizes = deque([nbytes] * len(self._counts), len(self._counts))
        self._depths = np.full(size, self._at_once)  # places of each lane
        for waiting in self._delays.waiting:
            self._depths[:waiting] += 1
        self._ends = np.cumsum(self._depths)
        self._firsts = self._ends - self._depths
        self._spread = np.empty(size, np.int64)  # lane of each input, without the shift
        self._spread[permute(np.arange(size), size, mix(self._key, LANES))] = np.arange(size)

    def _waiting(self, number: int) -> Rows:
        """Return the places of all elements that wait after `number` rounds, in the order in which they leave."""
        places: list[Rows] = []
        for at, count in enumerate(self._delays.waiting, start=number):
            lanes = slice(self._delays.empty(at), count)
            places.append(self._firsts[lanes] + (at + self._at_once) % self._depths[lanes])
        return np.concatenate(places)

    def _hold(self, piece: Piece) -> HeldElements:
        self._held, self._ids = HeldElements(piece.chunk), piece.ids
        return self._held

    def _piece(self, places: Rows, after: Mark) -> Piece:
        if self._held is None:
            raise RuntimeError("elements were taken from lanes before any came")
        return Piece(self._held.take(places), self._ids[places], after)

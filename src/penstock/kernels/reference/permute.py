"""The permutation in NumPy: bit for bit the native one, to be read along with `native/kernels/permute.h`."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from itertools import count

import numpy as np
from numpy.typing import NDArray

from penstock.core.arrays import Rows
from penstock.core.delays import HEAD, LANES, OUT, POOL, SHIFT, TAIL, Delays
from penstock.core.frozen import frozen
from penstock.core.seeds import mix, scramble

_WORD = (1 << 64) - 1
_PACKED_LENGTH = 16


def permute(positions: Rows, length: int, key: int) -> Rows:
    """Return the place of each position in the order of `key` over `[0, length)`; shapes `(k,)`."""
    if length <= _PACKED_LENGTH:
        return _drawn(length, key)[positions]
    return _walk(positions, length, _Rounds.of(length, key).forward)


def unpermute(positions: Rows, length: int, key: int) -> Rows:
    """Return the inverse of `permute`."""
    if length <= _PACKED_LENGTH:
        return np.argsort(_drawn(length, key))[positions]
    return _walk(positions, length, _Rounds.of(length, key).inverse)


def permute_rows(rows: Rows, length: int, key: int, reshuffle: bool = True) -> Rows:
    """Permute global rows within their epochs, each in a separate order, or all in that of epoch 0."""
    out = np.empty_like(rows)
    for epoch in np.unique(rows // length).tolist():
        here = rows // length == epoch
        epoch_key = mix(mix(key, epoch if reshuffle else 0), length)
        out[here] = epoch * length + permute(rows[here] - epoch * length, length, epoch_key)
    return out


def permute_within(positions: Rows, length: int, window: int, key: int) -> Rows:
    """Return the positions that come at `positions` from a buffer of `window` elements."""
    if window >= length:
        return permute(positions, length, key)
    return positions if window == 1 else buffered(length, window, key)[positions]


def buffered(length: int, window: int, key: int) -> Rows:
    """Return the whole order, made as by a buffer: element by element, in lanes with one queue each."""
    delays = Delays(window)
    size, stay, head = delays.round, delays.waiting, delays.head(key)
    count = delays.pool + head
    if length < count:
        head = count = length
    pool = permute(np.arange(count), count, mix(key, POOL)).tolist()
    made = [pool[i] for i in permute(np.arange(head), head, mix(key, HEAD)).tolist()]
    lanes = [deque[int | None]() for _ in range(size)]
    waiting = iter(pool[head:])
    for lasting in stay:
        for lane in lanes[:lasting]:
            lane.append(next(waiting, None))
    spread = permute(np.arange(size), size, mix(key, LANES))
    rounds = (length - count) // size
    for number in range(rounds):
        begin = count + number * size
        places = (spread + (mix(mix(key, SHIFT), number) & (size - 1))) % size
        for lane, place in zip(lanes, places.tolist(), strict=True):
            lane.append(begin + place)
        leaving = [position for lane in lanes if (position := lane.popleft()) is not None]
        out = permute(np.arange(len(leaving)), len(leaving), mix(mix(mix(key, OUT), number), len(leaving)))
        made += [leaving[i] for i in out.tolist()]
    rest = [x for lasting in stay for lane in lanes[:lasting] if (x := lane.popleft()) is not None]
    rest += range(count + rounds * size, length)
    last = permute(np.arange(len(rest)), len(rest), mix(key, TAIL))
    return np.array(made + [rest[i] for i in last.tolist()], np.int64)


def _words(key: int) -> Iterator[int]:
    """Yield the 64-bit words of a key."""
    start = scramble(key ^ 0x5851F42D4C957F2D)
    return (scramble((start + i * 0xD1B54A32D192ED03) & _WORD) for i in count(1))


def _drawn(length: int, key: int) -> Rows:
    """Return a whole small order, by Fisher and Yates."""
    order, words = list(range(length)), _words(key)
    for i in range(length - 1, 0, -1):
        j = next(words) * (i + 1) >> 64
        order[i], order[j] = order[j], order[i]
    return np.array(order, np.int64)


def _walk(positions: Rows, length: int, one_pass: Callable[[NDArray[np.uint64]], NDArray[np.uint64]]) -> Rows:
    """Send every position through the rounds until it is in `[0, length)`: its cycle leads back there."""
    values = one_pass(positions.astype(np.uint64))
    while (outside := values >= length).any():
        values[outside] = one_pass(values[outside])
    return values.astype(np.int64)


@frozen()
class _Rounds:
    """Rounds of `x = x * odd + key (mod 2**w); x ^= x >> ceil(w / 2)` over `w = bits(length - 1)` bits."""

    odd: list[int]
    add: list[int]
    mask: np.uint64
    shift: np.uint64

    @classmethod
    def of(cls, length: int, key: int) -> _Rounds:
        width, words = (length - 1).bit_length(), _words(key)
        pairs = [(next(words) | 1, next(words)) for _ in range(12 if width <= 8 else 8)]
        return cls(
            [odd for odd, _ in pairs],
            [add for _, add in pairs],
            np.uint64((1 << width) - 1),
            np.uint64((width + 1) // 2),
        )

    def forward(self, x: NDArray[np.uint64]) -> NDArray[np.uint64]:
        x = x ^ (x >> self.shift)
        for odd, add in zip(self.odd, self.add, strict=True):
            x = (x * np.uint64(odd) + np.uint64(add)) & self.mask
            x = x ^ (x >> self.shift)
        return x

    def inverse(self, x: NDArray[np.uint64]) -> NDArray[np.uint64]:
        for odd, add in zip(reversed(self.odd), reversed(self.add), strict=True):
            x = x ^ (x >> self.shift)
            x = ((x - np.uint64(add)) * np.uint64(pow(odd, -1, 1 << 64))) & self.mask
        return x ^ (x >> self.shift)

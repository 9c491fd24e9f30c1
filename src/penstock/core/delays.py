"""The delays of elements in a shuffle buffer, shared by the native order, its NumPy twin and streams."""

from __future__ import annotations

from itertools import accumulate

from penstock.core.seeds import mix

POOL, LANES, OUT, SHIFT, HEAD, TAIL = range(6)  # purposes of keys, mixed with an order's own
_GROUPS = 256  # of lanes with one delay


class Delays:
    """The numbers of elements that wait in a buffer of `buffer` elements (2 or more), by rounds of waiting.

    The input is taken in rounds of `round` elements, and `waiting[i]` of each round wait for more than i rounds: a
    geometric distribution, cut off after five buffers. Between two rounds `held` elements wait; with the next round
    they are at most one and a half times `buffer`. When the first round begins, `buffer` elements wait: those that
    leave after the first `pooled` rounds. `native/kernels/permute_buffer.h` describes the order.

    >>> delays = Delays(1000)
    >>> delays.round, delays.waiting[:4], delays.held, delays.pooled, delays.pool
    (128, [117, 107, 98, 90], 1334, 15, 1013)
    """

    def __init__(self, buffer: int) -> None:
        self.round = max(1 << (buffer // 4).bit_length() >> 1, 4 if buffer > 5 else 2)
        self.waiting: list[int] = []
        groups = min(self.round, _GROUPS)
        lanes = self.round // groups
        memory = buffer + buffer // 2
        room, share = (memory - self.round) // lanes, 1 << 32  # of a round, in units of 2**-32
        for _ in range(5 * buffer // self.round):
            share = share * (memory - self.round) // memory
            wanted = max((groups * share + (1 << 31)) >> 32, self.held < buffer)
            waiting = min(wanted, groups - 1, room)
            if not waiting:
                break
            self.waiting.append(waiting * lanes)
            room -= waiting
        filled = accumulate(self.waiting)
        self.pooled = next(number for number, pool in enumerate(filled, start=1) if pool >= buffer - 1)

    @property
    def held(self) -> int:
        """Return the number of elements that wait between two rounds."""
        return sum(self.waiting)

    @property
    def pool(self) -> int:
        """Return the number of elements that wait when the first round begins."""
        return sum(self.waiting[: self.pooled])

    def empty(self, number: int) -> int:
        """Return the number of lanes, from the first on, that have no element to yield after round `number`."""
        return self.waiting[number] if self.pooled <= number < len(self.waiting) else 0

    @property
    def replayed(self) -> int:
        """Return the largest number of elements made again to continue from a mark."""
        return self.held + (1 + len(self.waiting)) * self.round

    def head(self, key: int) -> int:
        """Return the number of elements before the first round, between 1 and `round`."""
        return 1 + (mix(key, HEAD) & (self.round - 1))

"""How many requests to make at once, and after how long to repeat one: by the measured times and rates."""

from __future__ import annotations

from collections import deque
from time import monotonic

FIRST_LIMIT, LIMIT_STEP, MOST_LIMIT, LEAST_LIMIT = 16, 8, 128, 2  # requests at once
_RISE, _FALL = 1.05, 0.8  # of the rate, from which on more requests help, or fewer do
_QUIET = 8  # windows without a rise, after which more requests are tried again
_CALM = 10.0  # seconds after a refusal without second requests
_SAMPLES = 512  # most recent times of requests of similar size
_ENOUGH = 100  # of them, to know a percentile
_HEDGED = 0.05  # the largest share of second requests
_SHORTEST = 0.02  # seconds before a second request


class RequestPace:
    """The number of requests at once: more by `LIMIT_STEP` as long as the rate rises with them, half after a refusal.

    Only times in which all these requests were under way count. Call under a lock.
    """

    def __init__(self) -> None:
        self.limit = FIRST_LIMIT
        self.rate = 0.0
        """Bytes a second in the last window in which all requests were under way."""
        self.rises = True
        """True if the last increase raised the rate."""
        self._best = 0.0
        self._began, self._count, self._bytes, self._busy = monotonic(), 0, 0, True
        self._quiet = 0
        self._refused = -_CALM
        self._times: dict[int, deque[float]] = {}
        self._late: dict[int, float] = {}
        self._made = self._repeated = 0

    def done(self, nbytes: int, seconds: float, *, busy: bool) -> None:
        """Count a request; it was `busy` if others were waiting for their turn at its end."""
        self._made += 1
        size = _class_of(nbytes)
        times = self._times.setdefault(size, deque(maxlen=_SAMPLES))
        times.append(seconds)
        if len(times) >= _ENOUGH and self._made % 32 == 0:
            self._late[size] = sorted(times)[len(times) * 99 // 100]
        self._count += 1
        self._bytes += nbytes
        self._busy = self._busy and busy
        if self._count >= 2 * self.limit:
            self._judge(monotonic())

    def _judge(self, now: float) -> None:
        if self._busy:
            self.rate = self._bytes / max(now - self._began, 1e-6)
            if self.rate > _RISE * self._best:
                self._best, self.rises, self._quiet = self.rate, True, 0
                self.limit = min(self.limit + LIMIT_STEP, MOST_LIMIT)
            elif self.rate < _FALL * self._best:
                self._best, self.rises = self.rate, False  # the network has changed
            else:
                self.rises = False
                self._quiet += 1
                if self._quiet % _QUIET == 0:
                    self.limit = min(self.limit + LIMIT_STEP, MOST_LIMIT)
        self._began, self._count, self._bytes, self._busy = now, 0, 0, True

    def refused(self) -> None:
        """Halve the number of requests: the store refuses some as too many."""
        now = monotonic()
        if now - self._refused > 1.0:  # the requests under way are refused together
            self.limit = max(self.limit // 2, LEAST_LIMIT)
            self._best = 0.0
            self._refused = now
        self._began, self._count, self._bytes = now, 0, 0

    def repeat_after(self, nbytes: int) -> float | None:
        """Return the seconds after which a request is late, and is made a second time; `None` if never."""
        late = self._late.get(_class_of(nbytes))
        if late is None or self._repeated > _HEDGED * self._made or monotonic() - self._refused < _CALM:
            return None
        return max(late, _SHORTEST)

    def repeated(self) -> None:
        """Count a second request."""
        self._repeated += 1


def _class_of(nbytes: int) -> int:
    return nbytes.bit_length() // 2

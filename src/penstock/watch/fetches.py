"""Counts of what a run fetched from remote stores, in this process and in those that work for it."""

from __future__ import annotations

import functools
import operator
import os
import sys
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from penstock.core.frozen import frozen

if TYPE_CHECKING:
    from penstock.storage.remote.fetcher import FetchCounts

_FETCHER = "penstock.storage.remote.fetcher"


@frozen()
class FetchStats:
    """Requests to remote stores since the iterator was made, by this process and by those that make its elements.

    Requests of other iterators in these processes count too. `seconds` is the time of all requests together, `waited`
    the time that tasks waited for them; `at_once` is the number of requests at once in the end, in all processes, and
    `rises` tells whether the rate rose when it was increased last. `retried`
    counts failed tries, `repeated` second requests for late ones, and `cached_bytes` what came from the local disk.
    """

    requests: int
    bytes: int
    seconds: float
    waited: float
    at_once: int
    rises: bool
    rate: float
    retried: int
    repeated: int
    cached_bytes: int

    @property
    def milliseconds(self) -> float:
        """The mean time of a request."""
        return 1e3 * self.seconds / max(self.requests, 1)

    def __str__(self) -> str:
        parts = [f"{self.requests:,} reads of remote files, {self.bytes / 1e6:,.1f} MB"]
        if self.requests:
            parts.append(f"{self.milliseconds:,.0f} ms a read, up to {self.at_once} at a time")
        if self.cached_bytes:
            parts.append(f"{self.cached_bytes / 1e6:,.1f} MB from the local cache")
        if self.retried:
            parts.append(f"{self.retried:,} tried again")
        if self.repeated:
            parts.append(f"{self.repeated:,} late ones repeated")
        return "; ".join(parts)


class Fetched(NamedTuple):
    """The counts of a process that fetches, since those before, and its pace at the end of them."""

    counts: FetchCounts
    at_once: int
    rises: bool
    rate: float


class FetchCounter:
    """Counter of the requests to remote stores since it was made: of this process, and as other processes tell."""

    def __init__(self) -> None:
        self._before = _counts_here()
        self._elsewhere: dict[int, Fetched] = {}  # by process
        self._untold: dict[int, Fetched] = {}  # of these, what `drain` has to pass on
        self._lock = threading.Lock()

    def drain(self) -> dict[int, Fetched] | None:
        """Return the counts since the last call by process, those absorbed included; `None` if there are none."""
        here = self._here()
        if here is not None:
            self._before = here.counts if self._before is None else self._before + here.counts
        if here is None and not self._untold:
            return None
        with self._lock:
            told, self._untold = self._untold, {}
        if here is not None:
            told[os.getpid()] = here
        return told

    def absorb(self, told: Mapping[int, Fetched] | None) -> None:
        """Add the counts of other processes; those of this one are known."""
        for process, more in (told or {}).items():
            if process == os.getpid():
                continue
            with self._lock:
                for totals in (self._elsewhere, self._untold):
                    before = totals.get(process)
                    totals[process] = more if before is None else more._replace(counts=before.counts + more.counts)

    def stats(self) -> FetchStats | None:
        """Return the counts of all processes together; `None` if nothing was fetched."""
        here = self._here()
        with self._lock:
            parts = [*self._elsewhere.values(), *([] if here is None else [here])]
        if not parts:
            return None
        counts = functools.reduce(operator.add, (each.counts for each in parts))
        return FetchStats(
            counts.requests,
            counts.bytes,
            counts.seconds,
            counts.waited,
            sum(each.at_once for each in parts),
            any(each.rises for each in parts),
            sum(each.rate for each in parts),
            counts.retried,
            counts.hedged,
            counts.cached_bytes,
        )

    def _here(self) -> Fetched | None:
        counts, module = _counts_here(), sys.modules.get(_FETCHER)
        if module is None or counts is None:
            return None
        if self._before is not None:
            counts = counts - self._before
        if not counts.requests and not counts.cached_bytes:
            return None
        pace = module.fetcher().pace
        return Fetched(counts, pace.limit, pace.rises, pace.rate)


def _counts_here() -> FetchCounts | None:
    """Return the counts of the fetcher of this process; `None` if nothing was read from a remote store."""
    module = sys.modules.get(_FETCHER)  # local data never imports it
    return None if module is None else module.fetcher().counts.copy()

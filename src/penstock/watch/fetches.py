"""Counts of what this process fetched from remote stores, for the statistics of a run."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class FetchStats:
    """Requests to remote stores by this process, since the iterator was made; other iterators count too.

    `seconds` is the time of all requests together, `waited` the time that tasks waited for them; `at_once` is the
    number of requests at once in the end, and `rises` tells whether the rate rose when it was increased last. `retried`
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


def counted_so_far() -> Any:
    """Return the counts of the fetcher of this process; `None` if nothing was read from a remote store."""
    module = sys.modules.get("penstock.storage.remote.fetcher")  # local data never imports it
    return None if module is None else module.fetcher().counts.copy()


def fetched_since(before: Any) -> FetchStats | None:
    """Return what was fetched since the counts `before`; `None` if nothing was."""
    module = sys.modules.get("penstock.storage.remote.fetcher")
    if module is None:
        return None
    fetcher = module.fetcher()
    counts = fetcher.counts.copy() if before is None else fetcher.counts - before
    if not counts.requests and not counts.cached_bytes:
        return None
    pace = fetcher.pace
    return FetchStats(
        counts.requests,
        counts.bytes,
        counts.seconds,
        counts.waited,
        pace.limit,
        pace.rises,
        pace.rate,
        counts.retried,
        counts.hedged,
        counts.cached_bytes,
    )

"""Requests that fail for a passing reason are tried again, with growing pauses, for `retry_seconds`."""

from __future__ import annotations

import math
import random
import threading
from collections.abc import Callable
from time import monotonic
from typing import TypeVar

from penstock.core.errors import DataError, PlanError
from penstock.storage.remote.failures import Reason, StoreFailure, classify, failed
from penstock.storage.remote.file import Access
from penstock.storage.remote.stores import opened_store

T = TypeVar("T")
RETRY_SECONDS = 300.0
"""How long a request is tried again, unless `storage_options=` has `retry_seconds`."""
_UNKNOWN_SECONDS = {  # for which to try what may never have been there
    Reason.METADATA: 5.0,  # credentials that were perhaps forgotten
    Reason.CONNECTION: 15.0,  # a server that has not answered before: its name may be mistyped
}
_ANSWERED = set[str]()  # tokens of accesses whose server has answered
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 10.0  # seconds between tries


class Retry:
    """The tries of one request: whether another one follows a failure, and after which pause."""

    def __init__(self, access: Access) -> None:
        self._budget = float(access.options.get("retry_seconds", RETRY_SECONDS))
        self._began, self._pause, self._has_asked_anew = monotonic(), _FIRST_PAUSE, False

    @property
    def seconds(self) -> float:
        """The time since the first try began."""
        return monotonic() - self._began

    def pause_after(self, failure: StoreFailure, most: float = math.inf) -> float | None:
        """Return the seconds until the next try, or `None` if there is none; `most` limits the seconds of all tries.

        Expired credentials are asked for anew once, at once.
        """
        if failure.kind is Reason.EXPIRED and not self._has_asked_anew:
            self._has_asked_anew = True
            opened_store.cache_clear()  # opened again, a store asks for credentials again
            return 0.0
        in_time = self.seconds < min(self._budget, most)
        if not (failure.kind.is_passing and in_time and threading.main_thread().is_alive()):
            return None
        pause = random.uniform(self._pause / 2, self._pause)  # noqa: S311 - not for secrets
        self._pause = min(2 * self._pause, _LONGEST_PAUSE)
        return pause


def answer_of(
    request: Callable[[], T],
    what: str,
    access: Access,
    *,
    action: str = "read it",
    stopped: threading.Event | None = None,
) -> T:
    """Return the result of a request other than of a range, such as for a size or a listing.

    Failures are tried again as those of ranges are, unless `stopped` is set, and for less time while no server has
    answered. The error of the last try has `what`, the URL, and names the `action` if it is denied.
    """
    retry, number, wake = Retry(access), 0, stopped or threading.Event()
    while True:
        number += 1
        try:
            answer = request()
            _ANSWERED.add(access.token)
            return answer
        except (PlanError, DataError, ImportError, FileExistsError):
            raise
        except Exception as error:  # noqa: BLE001 - any library's
            failure = classify(error)
        if failure.kind not in _UNKNOWN_SECONDS:
            _ANSWERED.add(access.token)
        pause = retry.pause_after(failure, math.inf if access.token in _ANSWERED else _UNKNOWN_SECONDS[failure.kind])
        if pause is None or wake.wait(pause):
            raise failed(failure, what, number, retry.seconds, action=action)

"""The bytes that a run may request from remote stores ahead of its tasks, as a part of its memory budget."""

from __future__ import annotations

from collections.abc import Callable

from penstock.core.budget import Account
from penstock.engine.tasks.read_ahead import FETCHED_AHEAD
from penstock.storage.remote.fetcher import fetcher

SHARE = 2  # the part of a budget that may be requested ahead: items need the rest


def fetch_room(account: Account) -> Callable[[], int]:
    """Return the function that tells how many bytes may be requested ahead, and counts those that are in `account`.

    All that this process has requested ahead counts, whichever run it was for.
    """

    def room() -> int:
        held = fetcher().ahead_bytes
        account.add(held - account.nbytes)
        return max(min(FETCHED_AHEAD, account.budget.limit_ahead // SHARE, account.left + held), 0)

    return room

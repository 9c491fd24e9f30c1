"""The sizes of recent results, from which the room for the next one follows."""

from __future__ import annotations

from collections import deque

IN_A_MESSAGE = 1 << 14  # bytes of elements that are sent directly, because it takes less time than to share them
MARGIN = 1.25  # room for a result, in sizes of the largest of the recent ones
FIRST_ROOM = 1 << 20  # bytes, while no result is known
RECENT_RESULTS = 16  # results


class ResultSizes:
    """The bytes of the results of one work that were not in a slot.

    >>> sizes = ResultSizes()
    >>> sizes.add(100_000)
    >>> sizes.room
    125000
    """

    def __init__(self) -> None:
        self._sizes: deque[int] = deque(maxlen=RECENT_RESULTS)

    def add(self, nbytes: int) -> None:
        """Note the size of a result."""
        self._sizes.append(nbytes)

    @property
    def room(self) -> int:
        """The bytes to keep free for the next result; 0 if it is likely to fit into a message."""
        largest = max(self._sizes, default=FIRST_ROOM)
        return int(MARGIN * largest) if largest > IN_A_MESSAGE else 0

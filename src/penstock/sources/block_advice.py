"""Has the system read blocks from a disk before they are decoded: those that will be, each told of once."""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from contextlib import suppress

from penstock.core.errors import DataError
from penstock.kernels.clocks import process_reads
from penstock.storage.local import Extent, advise_extents

AHEAD_BYTES = 32 << 20  # of the blocks of one task that the system reads before they are decoded
_TOLD = 64  # blocks that the system was told of last


class BlockAdvice:
    """Tells of blocks that lie where `extents` says. What is wrong with a file is said when it is read.

    As long as this process reads nothing from a disk, nothing is told of what is decoded next: all is in memory.
    """

    def __init__(self, extents: Callable[[int], Iterable[Extent]]) -> None:
        self._extents = extents
        self._told: OrderedDict[int, bool] = OrderedDict()
        self._reads = -1
        self._lock = threading.Lock()

    def tell(self, blocks: Iterable[int]) -> int:
        """Tell of blocks, but for those that were told of lately; how many bytes they are."""
        with self._lock:
            new = [block for block in blocks if block not in self._told]
            self._told.update(dict.fromkeys(new, True))  # the rows of a block are told of a few at a time
            while len(self._told) > _TOLD:
                self._told.popitem(last=False)
        with suppress(DataError, OSError, OverflowError):
            extents = [extent for block in new for extent in self._extents(block)]
            advise_extents(extents)
            return sum(end - begin for _, begin, end in extents)
        return 0

    def decoding(self, block: int) -> None:
        """Tell of a block that is decoded now: its parts are read side by side, and by this thread."""
        with self._lock:
            told = self._told.pop(block, False)
        if not told and self._is_cold():
            self.tell([block])

    def ahead(self, blocks: Iterable[int]) -> Callable[[int], None]:
        """Tell of blocks that are decoded one after another; to be called with each as soon as it is."""
        coming, sizes = deque(blocks), dict[int, int]()
        if len(coming) < 2 or not self._is_cold():
            return lambda _: None

        def decoded(block: int) -> None:
            sizes.pop(block, None)
            while coming and sum(sizes.values()) < AHEAD_BYTES:
                following = coming.popleft()
                sizes[following] = self.tell([following])

        decoded(-1)
        return decoded

    def _is_cold(self) -> bool:
        """Whether anything was read from a disk since this was asked last."""
        reads = process_reads()
        with self._lock:
            before, self._reads = self._reads, reads
        return reads != before

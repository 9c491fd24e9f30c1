"""Ask the system to read blocks from a disk before they are decoded, each block once."""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from contextlib import suppress

from penstock.core.errors import DataError
from penstock.kernels.clocks import process_reads
from penstock.storage.local import Extent, advise_extents

ADVISED_BYTES = 32 << 20  # read ahead of decoding, for one task
_TOLD = 64  # most recently announced blocks that are remembered
_TOLD_REMOTE = 1 << 13  # of remote files: one that is announced again would be kept after it was read


class BlockAdvice:
    """Announces blocks to the system by their `extents`. Faults of a file are raised when its blocks are read.

    As long as this process reads nothing from a disk, the next blocks are not announced: all data is in memory. Those
    of remote files are `always` announced.
    """

    def __init__(self, extents: Callable[[int], Iterable[Extent]], *, always: bool = False) -> None:
        self._extents = extents
        self._always = always
        self._decoding: set[int] = set()  # blocks of remote files, which would be fetched twice
        self._told: OrderedDict[int, bool] = OrderedDict()
        self._reads = -1
        self._lock = threading.Lock()

    def tell(self, blocks: Iterable[int]) -> int:
        """Announce blocks, except recently announced ones, and return their number of bytes."""
        with self._lock:
            new = [block for block in blocks if block not in self._told and block not in self._decoding]
            self._told.update(dict.fromkeys(new, True))  # the rows of a block arrive a few at a time
            while len(self._told) > (_TOLD_REMOTE if self._always else _TOLD):
                self._told.popitem(last=False)
        with suppress(DataError, OSError, OverflowError):
            extents = [extent for block in new for extent in self._extents(block)]
            advise_extents(extents)
            return sum(end - begin for _, begin, end in extents)
        return 0

    def decoding(self, block: int) -> None:
        """Announce a block that this thread is about to decode, so that its parts are read in parallel."""
        with self._lock:
            told = self._told.pop(block, False)
            if self._always:
                self._decoding.add(block)
        if not told and not self._always and self._is_cold():
            self.tell([block])

    def decoded(self, block: int) -> None:
        """Forget that a block is being decoded."""
        self._decoding.discard(block)

    def ahead(self, blocks: Iterable[int]) -> Callable[[int], None]:
        """Announce blocks that are decoded one after another; call the result with each block once it is decoded."""
        coming, sizes = deque(blocks), dict[int, int]()
        if len(coming) < 2 or not self._is_cold():
            return lambda _: None

        def decoded(block: int) -> None:
            sizes.pop(block, None)
            while coming and sum(sizes.values()) < ADVISED_BYTES:
                following = coming.popleft()
                sizes[following] = self.tell([following])

        decoded(-1)
        return decoded

    def _is_cold(self) -> bool:
        """Return whether this process has read from a disk since the previous call, or reads remote files."""
        if self._always:
            return True
        reads = process_reads()
        with self._lock:
            before, self._reads = self._reads, reads
        return reads != before

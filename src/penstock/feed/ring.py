"""Host memory that devices copy from: used again once its arrays are gone and all transfers out of it are over."""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

_PAGE = 1 << 12
_MOST_IDLE = 1 << 30  # bytes


class Transfer(Protocol):
    """A transfer under way."""

    def query(self) -> bool:
        """Return whether it is over."""
        ...


@dataclass(eq=False)
class PinnedBlock:
    """A framework's buffer of `nbytes` bytes at `address`, and the `transfers` out of it, to any devices."""

    buffer: Any
    address: int
    nbytes: int
    transfers: list[Transfer] = field(default_factory=list[Transfer])

    def is_free(self) -> bool:
        """Return whether all transfers are over, and forget those that are."""
        self.transfers = [transfer for transfer in self.transfers if not transfer.query()]
        return not self.transfers


class Ring:
    """Hands out blocks as arrays of bytes, the same ones again and again, so that a steady run pins no new memory.

    A block comes back when its array and all views of that are gone, and is handed out again once the transfers out of
    it are over. New blocks are made by `new(nbytes)`. Any thread may ask.
    """

    def __init__(self, new: Callable[[int], PinnedBlock]) -> None:
        self._new = new
        self._idle: deque[PinnedBlock] = deque()  # appended to by whoever lets go of an array, perhaps inside our lock
        self._lock = threading.Lock()

    def allocate(self, nbytes: int) -> NDArray[np.uint8]:
        """Return that many bytes, uninitialized."""
        wanted = max(-(-nbytes // _PAGE), 1) * _PAGE
        with self._lock:
            block = self._fitting(wanted)
        return np.asarray(_Lent(block or self._new(wanted), self._idle))[:nbytes]

    def _fitting(self, wanted: int) -> PinnedBlock | None:
        """Take the smallest idle block of up to twice the bytes; forget blocks if too many are idle."""
        idle = list(self._idle)
        free = [block for block in idle if wanted <= block.nbytes <= 2 * wanted and block.is_free()]
        block = min(free, key=lambda each: each.nbytes, default=None)
        if block is not None:
            self._idle.remove(block)
        elif sum(each.nbytes for each in idle) > _MOST_IDLE:
            for each in idle:
                if each.is_free():
                    self._idle.remove(each)
        return block


class _Lent:
    """The owner of an array over a block, which gives the block back when the array is gone."""

    def __init__(self, block: PinnedBlock, idle: deque[PinnedBlock]) -> None:
        self.block = block
        self.__array_interface__ = {
            "data": (block.address, False),
            "shape": (block.nbytes,),
            "typestr": "|u1",
            "version": 3,
        }
        weakref.finalize(self, idle.append, block).atexit = False


def block_under(memory: NDArray[np.uint8]) -> PinnedBlock | None:
    """Return the block that a part of a ring's array lies in; `None` for other memory."""
    owner = memory
    while isinstance(owner, np.ndarray):
        owner = owner.base
    return owner.block if isinstance(owner, _Lent) else None

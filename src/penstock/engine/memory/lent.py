"""Memory that another process lends to this one: blocks of its arena, which return once nobody sees them here."""

from __future__ import annotations

import weakref
from collections import deque
from typing import TypeAlias

import numpy as np

from penstock.engine.memory.arena import Mapping

Loan: TypeAlias = tuple[int, int, int]
"""A block on loan: the number of the run in its process, that of the piece, and that of the block within the piece."""
WHOLE_PIECE = -1
"""The number that stands for all blocks of a piece."""


class LentMemory(Mapping):
    """A mapping of the arena of process `owner`. A block that is let go is noted, and told with the next request.

    The memory stays as long as some array refers to it, also after the process has ended.
    """

    def __init__(self, owner: int, fd: int, size: int) -> None:
        super().__init__(fd, size)
        self.owner = owner
        self._returned: deque[Loan] = deque()

    def array(self, loan: Loan, begin: int, nbytes: int) -> np.ndarray:
        """Return the bytes of a block as `uint8[nbytes]`; the block returns with the last view of them."""
        owner = np.ndarray((nbytes,), np.uint8, self._map, begin)  # its base is no array, so that views refer to it
        weakref.finalize(owner, self._returned.append, loan).atexit = False
        return owner[:]

    def give_back(self, loan: Loan) -> None:
        """Return a block, or all of a piece, that no array was made of."""
        self._returned.append(loan)

    def returned(self) -> list[Loan]:
        """Return the blocks that were let go since the last call."""
        return [self._returned.popleft() for _ in range(len(self._returned))]

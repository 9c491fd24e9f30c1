"""Blocks of an arena on loan: those of this process that others see, and those of others, until nobody sees them."""

from __future__ import annotations

import mmap
import os
import weakref
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, TypeAlias

import numpy as np

from penstock.memory.arena import Arena, Mapping, new_arena
from penstock.transport.packets import IN_A_MESSAGE, Unsent, packet_of

Loan: TypeAlias = tuple[int, int, int]
"""A block on loan: the number of the run in its process, that of the piece, and that of the block within the piece."""
WHOLE_PIECE = -1
"""The number that stands for all blocks of a piece."""
LEAST_MAPPED = 1 << 17  # bytes; it takes less time to copy fewer than to map them
MOST_PIECES = 32  # pieces at a time that a `LentFile` maps; each is a descriptor and a mapping of the process


class Loans:
    """The blocks on loan that were let go here, to be told with the next request."""

    def __init__(self) -> None:
        self._returned: deque[Loan] = deque()  # to which finalizers add, without a lock

    def give_back(self, loan: Loan) -> None:
        """Return a block, or all of a piece."""
        self._returned.append(loan)

    def returned(self) -> list[Loan]:
        """Return the blocks that were let go since the last call."""
        return [self._returned.popleft() for _ in range(len(self._returned))]


class LentMemory(Mapping, Loans):
    """A mapping of the arena of process `owner`, which lends each block to this process alone.

    The memory stays as long as some array refers to it, also after the process has ended.
    """

    def __init__(self, owner: int, fd: int, size: int) -> None:
        Mapping.__init__(self, fd, size)
        Loans.__init__(self)
        self.owner = owner

    def array(self, loan: Loan, begin: int, nbytes: int) -> np.ndarray:
        """Return the bytes of a block as `uint8[nbytes]`; the block returns with the last view of them."""
        owner = np.ndarray((nbytes,), np.uint8, self._map, begin)  # its base is not an array, so that views refer to it
        weakref.finalize(owner, self.give_back, loan).atexit = False
        return owner[:]


class LentFile(Loans):
    """The file of the arena of a process that lends the same blocks to several processes.

    A piece is mapped privately: what this process writes to it, no other one sees, and no page of it is copied before.
    A small piece is copied, and so is one more than `MOST_PIECES`, so that a consumer that keeps all pieces does not
    keep all of the arena.
    """

    def __init__(self, fd: int, line: int) -> None:
        """Close `fd` and a duplicate of `line`, a connection to the owner, once no piece is left."""
        super().__init__()
        self._fd = fd
        self._mapped: weakref.WeakSet[mmap.mmap] = weakref.WeakSet()
        for each in (fd, os.dup(line)):
            weakref.finalize(self, os.close, each).atexit = False

    def parts(self, run: int, piece: int, places: Sequence[tuple[int, int]]) -> list[memoryview]:
        """Return the bytes at these places, each an offset with a number of bytes, which may be changed here."""
        loan = run, piece, WHOLE_PIECE
        if sum(nbytes for _, nbytes in places) >= LEAST_MAPPED and len(self._mapped) < MOST_PIECES:
            with suppress(OSError):  # the system allows no more mappings or descriptors
                return self._private(loan, places)
        try:
            return [self._copy(*place) for place in places]
        finally:
            self.give_back(loan)

    def _private(self, loan: Loan, places: Sequence[tuple[int, int]]) -> list[memoryview]:
        """Map a piece, of which only the pages at its places take memory; it returns with the last view of any part."""
        begin = min(begin for begin, _ in places) // mmap.ALLOCATIONGRANULARITY * mmap.ALLOCATIONGRANULARITY
        end = max(begin + nbytes for begin, nbytes in places)
        mapped = mmap.mmap(self._fd, end - begin, access=mmap.ACCESS_COPY, offset=begin)
        self._mapped.add(mapped)
        weakref.finalize(mapped, self.give_back, loan).atexit = False
        return [memoryview(mapped)[at - begin : at - begin + nbytes] for at, nbytes in places]

    def _copy(self, begin: int, nbytes: int) -> memoryview:
        made = left = memoryview(bytearray(nbytes))
        while left:  # the system reads 2 GiB at a time
            count = os.preadv(self._fd, [left], begin + nbytes - len(left))
            if not count:
                raise EOFError(f"{len(left):,} bytes of shared memory are missing")
            left = left[count:]
        return made


class Lending:
    """The arena of this process, and the blocks of it that other processes have."""

    def __init__(self) -> None:
        self.arena: Arena | None = None
        self.notice: str | None = None
        self._is_made = False
        self._lent: dict[tuple[int, int], dict[int, Any]] = {}  # by run and piece, then by position: what keeps a block

    def make_arena(self, budget: int) -> None:
        """Make an arena within a budget in bytes, unless it was made before."""
        if not self._is_made:
            self._is_made = True
            self.arena, self.notice = new_arena(budget)

    def lend(self, run: int, piece: int, value: Any) -> tuple[Unsent, int | None, list[memoryview]]:
        """Pack an object for another process; return the packet, its offset, and its bytes if they are in no block."""
        notes = _Notes(self.arena)
        made = packet_of(value, notes)
        packet = made.packet
        in_place = sum(not is_beside for is_beside, _, _ in packet.buffers)
        kept = dict(enumerate(notes.arrays[len(notes.arrays) - in_place :]))
        block = None if self.arena is None or packet.nbytes <= IN_A_MESSAGE else self.arena.block(packet.nbytes)
        at = None if block is None or self.arena is None else self.arena.place_of(block)
        if block is not None:
            made.write(block)
            kept[in_place] = block
        if kept:
            self._lent[run, piece] = kept
        return made, at, list(made.pieces()) if block is None else []

    def take_back(self, loans: list[Loan]) -> None:
        """Let go of blocks that the other processes do not see any longer."""
        for run, piece, position in loans:
            kept = self._lent.get((run, piece))
            if kept is not None:
                kept.pop(position, None)
            if not kept or position == WHOLE_PIECE:
                self._lent.pop((run, piece), None)

    def take_back_all(self, run: int) -> None:
        """Let go of all blocks of a run, which nobody sees any longer."""
        self.take_back([(*lent, WHOLE_PIECE) for lent in list(self._lent) if lent[0] == run])


class _Notes:
    """An arena that notes the arrays which a packet refers to."""

    def __init__(self, arena: Arena | None) -> None:
        self.arrays: list[np.ndarray] = []
        self._arena = arena

    def place_of(self, array: np.ndarray) -> int | None:
        at = None if self._arena is None else self._arena.place_of(array)
        if at is not None:
            self.arrays.append(array)
        return at

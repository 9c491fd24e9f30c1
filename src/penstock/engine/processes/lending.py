"""Blocks of the arena of this process that other processes see, until they say that they do not any longer."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.engine.memory.arena import Arena, new_arena
from penstock.engine.memory.lent import WHOLE_PIECE, Loan
from penstock.engine.processes.travel import IN_A_MESSAGE
from penstock.engine.transport.packets import Unsent, packet_of


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

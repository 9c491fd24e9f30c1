"""A task in the process that makes it: its memory in the arena again, and its result on the way back."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.elements.chunks.chunk import Items
from penstock.engine.memory.arena import Mapping
from penstock.engine.processes.plans import Travelling
from penstock.engine.processes.result_sizes import IN_A_MESSAGE
from penstock.engine.tasks.task import Made, Task
from penstock.engine.transport.packets import Packet, Unsent, opened_packet, packet_of
from penstock.plan.flow import Piece


def arrived(task: Travelling, tail: bytearray, arena: Mapping | None) -> Task:
    """Return the task that was sent, with its slot in the arena."""
    ids, given, at = task.given
    chunk = None
    if given is not None:  # copied: a function may keep what it is given, and the block serves other tasks later
        block = tail if at is None or arena is None else arena.part(at, given.nbytes).copy()
        chunk = opened_packet(given, block)
    slot = None if task.slot is None else [_array(*leaf, arena) for leaf in task.slot]
    piece = Piece(Items([]), ids) if chunk is None else chunk
    return Task(task.low, task.high, piece, slot, task.upcoming, task.part, quota=task.quota)


def result_packet(made: Made, room: tuple[int, int], arena: Mapping | None) -> tuple[Packet, Unsent | None]:
    """Return the layout of a result, and the result again unless it is in the slot and in the room."""
    result = packet_of(made, arena)
    begin, nbytes = room[0], result.packet.nbytes
    if arena is None or not IN_A_MESSAGE < nbytes <= room[1]:
        return result.packet, result
    result.write(arena.part(begin, nbytes))
    return result.packet, None


def _array(shape: tuple[int, ...], dtype: np.dtype[Any], at: int | None, arena: Mapping | None) -> np.ndarray:
    if at is None or arena is None:
        return np.empty(shape, dtype)
    size = int(np.prod(shape)) * dtype.itemsize
    return arena.part(at, size).view(dtype).reshape(shape)

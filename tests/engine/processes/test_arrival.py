from __future__ import annotations

import numpy as np
import pytest

from penstock.elements.chunks.chunk import Items
from penstock.engine.memory.arena import Arena
from penstock.engine.memory.shared_file import SharedFile
from penstock.engine.processes.arrival import arrived, result_packet
from penstock.engine.processes.plans import sending
from penstock.engine.tasks.task import Made, Task
from penstock.plan.flow import Piece

TOOK = (0, None)


@pytest.fixture
def arena():
    return Arena(SharedFile(1 << 20, 1 << 20))


@pytest.mark.parametrize("shares", [True, False])
def test_a_task_arrives_as_it_was_sent(arena, shares):
    shared = arena if shares else None
    given = Piece(Items([np.full(3000, 5), "text"]), np.arange(2))
    sent = sending(Task(3, 5, given, [np.empty((2, 3)), np.empty(2, object)], np.arange(9), (0, 1)), 0, shared, 0)
    task = arrived(sent.travelling, sent.tail, shared)
    assert (task.low, task.high, task.part, task.upcoming.tolist()) == (3, 5, (0, 1), list(range(9)))
    assert task.given.ids.tolist() == [0, 1]
    assert task.given.chunk.elements()[0].tolist() == [5] * 3000
    assert [(array.shape, array.dtype) for array in task.slot] == [((2, 3), np.float64), ((2,), np.dtype(object))]
    assert (arena.place_of(task.slot[0]) is not None) == shares


def test_elements_that_a_function_keeps_are_its_own(arena):
    sent = sending(Task(0, 1, Piece(Items([np.full(3000, 5)]), np.arange(1))), 0, arena, 0)
    (kept,) = arrived(sent.travelling, sent.tail, arena).given.chunk.elements()
    sent.room[:] = 0
    assert kept.tolist() == [5] * 3000


@pytest.mark.parametrize("room", [0, 10_000, 50_000])
def test_a_result_comes_back_by_the_room_or_beside_it(arena, room):
    sent = sending(Task(0, 1, Piece(Items([]), np.arange(1))), 0, arena, room)
    made = Made(Piece(Items([np.arange(5000)]), np.arange(1)), TOOK)
    packet, rest = result_packet(made, sent.travelling.room, arena)
    assert (rest is not None) == (room < 50_000)
    tail = bytearray() if rest is None else bytearray(b"".join(rest.pieces()))
    assert rest is None or tail == rest.tobytes()
    assert sent.opened(packet, tail).piece.chunk.elements()[0].tolist() == list(range(5000))


@pytest.mark.parametrize("room", [0, 100_000])
def test_a_result_takes_the_place_of_what_the_task_was_given(arena, room):
    sent = sending(Task(0, 1, Piece(Items([np.full(5000, 5)]), np.arange(1))), 0, arena, room)
    before = arena.live_bytes
    assert before < max(45_000, room + 1000)
    task = arrived(sent.travelling, sent.tail, arena)
    made = Made(Piece(Items([task.given.chunk.elements()[0] + 1]), np.arange(1)), TOOK)
    packet, rest = result_packet(made, sent.travelling.room, arena)
    assert rest is None or rest.packet.nbytes > sent.room.nbytes
    tail = bytearray() if rest is None else rest.tobytes()
    assert sent.opened(packet, tail).piece.chunk.elements()[0].tolist() == [6] * 5000
    assert arena.live_bytes == before

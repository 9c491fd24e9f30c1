from __future__ import annotations

import pickle

import numpy as np
import pytest

from penstock.elements.chunks.chunk import Items
from penstock.engine.tasks.task import Made, Task
from penstock.engine.workers.processes.travel import RECENT_RESULTS, ResultSizes, arrived, result_packet, sending
from penstock.memory.arena import Arena
from penstock.memory.shared_file import SharedFile
from penstock.plan.flow import Piece
from penstock.transport.packets import IN_A_MESSAGE

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


def test_the_room_fits_the_largest_of_the_recent_results_with_a_margin():
    sizes = ResultSizes()
    assert sizes.room > 0
    sizes.add(200_000)
    sizes.add(100_000)
    assert sizes.room == 250_000
    for _ in range(RECENT_RESULTS - 1):
        sizes.add(100_000)
    assert sizes.room == 125_000


def test_small_results_need_no_room():
    sizes = ResultSizes()
    sizes.add(100)
    assert sizes.room == 0


def test_a_task_travels_with_offsets_instead_of_memory(arena):
    slot = [arena.allocate((2, 8), np.dtype("f4")), np.empty(2, object), np.empty((2, 3))]
    task = Task(5, 7, Piece(Items([]), np.arange(2)), slot)
    made = sending(task, 3, arena, 100)
    (_, _, inside), (_, _, objects), (shape, dtype, instead) = made.travelling.slot
    assert inside == arena.place_of(slot[0])
    assert objects is None
    assert (shape, dtype) == ((2, 3), np.dtype("f8"))
    assert instead == arena.place_of(made.held[1][1])
    assert made.travelling.room == (arena.place_of(made.room), 100)
    assert made.travelling.given is None


def test_the_dtypes_of_a_slot_arrive_as_they_are(arena):
    dtypes = ["b1", "i8", ">i4", "S5", "U3", "M8[ns]", [("x", "f4")], np.dtype("i2", metadata={"unit": "mm"})]
    slot = [np.zeros((2,), dtype) for dtype in dtypes]
    sent = sending(Task(3, 5, Piece(Items([]), np.array([7, 2])), slot, quota=9), 4, arena, 0).travelling
    plan, task, given, leaves, room = pickle.loads(pickle.dumps(sent))
    assert (plan, given, room) == (4, None, (0, 0))
    assert leaves == sent.slot
    assert [(dtype, dtype.metadata) for _, dtype, _ in leaves] == [
        (array.dtype, array.dtype.metadata) for array in slot
    ]
    assert task._replace(given=None) == Task(3, 5, None, quota=9)
    assert task.given.ids.tolist() == [7, 2]
    assert task.given.ids.flags.writeable


@pytest.mark.parametrize("size", [10, IN_A_MESSAGE])
def test_large_elements_travel_in_the_arena_if_there_is_room(size, arena):
    piece = Piece(Items([np.zeros(size)]), np.arange(1))
    made = sending(Task(0, 1, piece), 0, arena, 0)
    assert (made.room is not None) == (size == IN_A_MESSAGE)
    assert bool(made.tail) == (size == 10)
    full = sending(Task(0, 1, piece), 0, None, 100)
    assert full.room is None
    assert len(full.tail) == full.travelling.given[0].nbytes

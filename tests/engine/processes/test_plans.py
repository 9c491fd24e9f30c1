from __future__ import annotations

import gc
import os

import numpy as np
import pytest

import penstock as ps
from penstock.elements.chunks.chunk import Items
from penstock.engine.memory.arena import Arena
from penstock.engine.memory.shared_file import SharedFile
from penstock.engine.processes.plans import SharedPlan, sending
from penstock.engine.processes.result_sizes import IN_A_MESSAGE
from penstock.engine.tasks.observer import Unobserved
from penstock.engine.tasks.task import Task
from penstock.engine.tasks.works import PieceWork, RowWork
from penstock.plan.flow import Piece
from penstock.watch.counters import Counters


def work_of(ds, kind=RowWork, numbered_from=0):
    return kind(ds._plan, np.empty, Unobserved(), numbered_from)


@pytest.fixture
def arena():
    return Arena(SharedFile(1 << 20, 1 << 20))


def test_a_large_source_is_in_a_file_once_and_a_small_plan_in_none():
    source = np.arange(1_000_000)
    small = SharedPlan(work_of(ps.Dataset.range(3)), Unobserved())
    assert small._file is None
    large = SharedPlan(work_of(ps.Dataset.from_tensor_slices(source)), Unobserved())
    descriptor = large._file.fd
    assert os.fstat(descriptor).st_size >= source.nbytes
    assert large.packet.nbytes >= source.nbytes > small.packet.nbytes
    assert large.packet.pickled < 10_000
    del large
    gc.collect()
    with pytest.raises(OSError, match="descriptor"):
        os.fstat(descriptor)


def test_a_plan_serves_every_run_of_the_same_work():
    ds = ps.Dataset.range(10).map(lambda x: x + 1)
    plan = SharedPlan(work_of(ds), Unobserved())
    assert plan.is_of(work_of(ds), Unobserved())
    assert not plan.is_of(work_of(ds, numbered_from=1), Unobserved())
    assert not plan.is_of(work_of(ds, PieceWork), Unobserved())
    assert not plan.is_of(work_of(ds), Counters())
    assert not plan.is_of(work_of(ds.take(3)), Unobserved())


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
    assert made.travelling.given[1:] == (None, None)


@pytest.mark.parametrize("size", [10, IN_A_MESSAGE])
def test_large_elements_travel_in_the_arena_if_there_is_room(size, arena):
    piece = Piece(Items([np.zeros(size)]), np.arange(1))
    made = sending(Task(0, 1, piece), 0, arena, 0)
    assert (made.room is not None) == (size == IN_A_MESSAGE)
    assert bool(made.tail) == (size == 10)
    full = sending(Task(0, 1, piece), 0, None, 100)
    assert full.room is None
    assert len(full.tail) == full.travelling.given[1].nbytes

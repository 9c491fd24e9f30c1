from __future__ import annotations

import gc
import os
import threading

import numpy as np
import pytest

from penstock.core.budget import Budget
from penstock.memory import shared_file
from penstock.memory.arena import KEY_BYTES, STEP, Arena, Mapping
from penstock.memory.pool import ALIGNMENT, Memory
from penstock.memory.shared_file import SharedFile

F4 = np.dtype("f4")


@pytest.fixture
def arena():
    return Arena(SharedFile(1 << 20, 1 << 16))


def test_a_block_is_free_once_the_last_view_of_its_array_is_gone(arena):
    peak = arena.peak()
    array = arena.allocate((10, 10), F4)
    view = memoryview(array[2:3, ::2].T)
    assert arena.live_bytes == 512
    del array
    gc.collect()
    assert arena.live_bytes == 512
    del view
    assert arena.live_bytes == 0
    assert (peak.nbytes, arena.peak().nbytes) == (512, 0)


def test_a_kept_array_is_never_overwritten(arena):
    kept = []
    for number in range(200):
        array = arena.allocate((256,), np.dtype("u1"))
        array[:] = number
        if number % 7 == 0:
            kept.append((number, array))
    assert all((array == number).all() for number, array in kept)


def test_another_mapping_sees_the_same_bytes_at_the_same_offset(arena):
    array = arena.allocate((3,), F4)
    array[:] = [1, 2, 3]
    other = Mapping(arena.file.fd, arena.size)
    at = arena.place_of(array)
    assert other.part(at, array.nbytes).view(F4).tolist() == [1, 2, 3]
    assert other.place_of(array) is None


def test_only_whole_arrays_of_the_arena_have_a_place(arena):
    array = arena.allocate((4, 4), F4)
    assert arena.place_of(array[1:]) == arena.place_of(array) + 16
    assert arena.place_of(array[:, 1:]) is None
    assert arena.place_of(np.zeros(3)) is None


def test_arrays_begin_at_cache_lines_and_objects_are_refused(arena):
    arrays = [arena.allocate((size,), np.dtype("u1")) for size in (0, 1, 127, 128, 129)]
    assert [array.ctypes.data % 128 for array in arrays] == [0] * 5
    assert arena.allocate((3,), np.dtype(object)) is None


def test_pages_are_reserved_when_they_are_needed(arena):
    big = arena.block((1 << 20) - (1 << 16))
    big[:] = 1
    assert arena.file.reserved == 1 << 20
    assert arena.block(1 << 17) is None
    del big
    assert arena.block(1 << 19) is not None


def pages_of(arena):
    return 512 * os.fstat(arena.file.fd).st_blocks


def test_the_memory_behind_the_last_block_is_given_back_until_it_is_needed_again(arena):
    first, middle, last = (arena.block(100_000) for _ in range(3))
    kept = last[:10]
    first[:], middle[:], kept[:] = 1, 2, 3
    del last, middle
    arena.give_back()
    assert pages_of(arena) > 200_000  # the last one is still in use
    del kept
    arena.give_back()
    assert 100_000 <= pages_of(arena) == arena.file.reserved <= 110_000
    assert (first == 1).all()
    again = arena.block(50_000)
    assert 150_000 <= pages_of(arena) == arena.file.reserved <= 160_000  # no more than that
    again[:] = 4
    assert (first == 1).all()
    del first, again
    arena.give_back()
    assert bytes(arena.part(0, KEY_BYTES)) == arena.key


def test_a_full_machine_gives_no_block_instead_of_ending_the_process(arena, monkeypatch):
    monkeypatch.setattr(shared_file, "available_memory", lambda: 0)
    assert arena.block((1 << 16) - ALIGNMENT) is not None
    assert arena.block(1 << 17) is None


def test_an_arena_that_died_leaves_its_arrays_valid():
    arena = Arena(SharedFile(STEP, STEP))
    array = arena.allocate((1000,), F4)
    array[:] = 7
    del arena
    gc.collect()
    assert (array == 7).all()


def test_threads_get_blocks_of_their_own(arena):
    wrong = []

    def work(number):
        for _ in range(300):
            array = arena.allocate((100,), np.dtype("u1"))
            array[:] = number
            if not (array == number).all():
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert arena.live_bytes == 0


def test_what_is_free_in_the_arena_is_kept_for_the_next_batches_and_not_left_for_others():
    memory, budget = Memory(), Budget(1 << 20)
    memory.within(budget)
    memory.use(Arena(SharedFile(1 << 19, 1 << 18)))
    assert budget.left == (1 << 20) - (1 << 18)
    batch = memory.allocate_shared((1 << 17,), np.dtype("u1"))
    assert budget.left == (1 << 20) - (1 << 17)  # the window counts the other half
    del batch
    assert budget.left == (1 << 20) - (1 << 18)


def test_what_is_kept_is_given_back_once_nothing_has_room():
    memory, budget = Memory(), Budget(1 << 20)
    memory.within(budget)
    memory.use(Arena(SharedFile(1 << 19, 1 << 18)))
    batch = memory.allocate((1 << 17,), np.dtype("u1"))
    del batch
    assert memory.idle_bytes == (1 << 18) + (1 << 17)
    budget.make_room()
    assert memory.idle_bytes < 1 << 13
    assert budget.short == 1


def test_memory_goes_back_to_the_system_with_the_last_view_though_others_map_it():
    arena = Arena(SharedFile(1 << 20, 1 << 20))
    other = os.dup(arena.file.fd)
    array = arena.allocate((1000,), F4)
    array[:] = 7
    view = array[5:]
    del arena, array
    gc.collect()
    assert os.fstat(other).st_blocks > 0
    assert (view == 7).all()
    del view
    gc.collect()
    assert os.fstat(other).st_blocks == 0
    os.close(other)


def test_a_forked_child_takes_no_blocks_and_leaves_the_memory_to_its_parent():
    arena = Arena(SharedFile(1 << 20, 1 << 20))
    array = arena.allocate((1000,), F4)
    array[:] = 7
    child = os.fork()
    if child == 0:
        refused = arena.block(100) is None
        del arena, array
        gc.collect()
        os._exit(0 if refused else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert (array == 7).all()
    assert arena.block(100) is not None

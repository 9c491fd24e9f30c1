from __future__ import annotations

import numpy as np
import pytest

from penstock.elements.chunks.chunk import Columns
from penstock.elements.nested.structure import LEAF
from penstock.memory.arena import Arena
from penstock.memory.shared_file import SharedFile
from penstock.transport.packets import held_part, opened_packet, packet_of

LARGE = 5000  # bytes, more than travel in the pickle


def again(value):
    made = packet_of(value)
    return opened_packet(made.packet, made.tobytes())


@pytest.mark.parametrize("size", [0, 1, 4095, 4096, 4097, 100_000])
def test_arrays_of_any_size_come_back(size):
    array = np.arange(size, dtype=np.uint8)
    back = again({"a": array, "b": [array[::2], "text"]})
    assert (back["a"] == array).all()
    assert (back["b"][0] == array[::2]).all()
    assert back["b"][1] == "text"
    assert back["a"].flags.writeable


def test_large_arrays_are_beside_the_pickle_and_small_ones_in_it():
    packet = packet_of([np.zeros(LARGE, "u1"), np.zeros(10, "u1")]).packet
    assert [nbytes for _, _, nbytes in packet.buffers] == [LARGE]
    assert packet.pickled < 1000 < packet.nbytes


def test_read_only_chunks_stay_read_only():
    array = np.zeros((3, LARGE))
    array.flags.writeable = False
    back = again(Columns(LEAF, [array], 3))
    assert not back.columns[0].flags.writeable


def test_arrays_in_the_arena_stay_where_they_are():
    arena = Arena(SharedFile(1 << 20, 1 << 20))
    slot = arena.allocate((4, 10), np.dtype("f4"))
    slot[:] = 3
    made = packet_of([slot[1:3], np.zeros(LARGE)], arena)
    assert made.packet.buffers[0] == (False, arena.place_of(slot) + 40, 80)
    held = [(arena.place_of(slot), slot)]
    back, other = opened_packet(made.packet, made.tobytes(), lambda begin, nbytes: held_part(held, begin, nbytes))
    slot[:] = 4
    assert (back == 4).all()
    assert len(other) == LARGE
    del slot
    held.clear()
    assert arena.live_bytes > 0
    del back
    assert arena.live_bytes == 0


def test_memory_of_another_task_is_refused():
    arena = Arena(SharedFile(1 << 20, 1 << 20))
    mine, other = (arena.allocate((100,), np.dtype("u1")) for _ in range(2))
    with pytest.raises(ValueError, match="belong to another task"):
        held_part([(arena.place_of(mine), mine)], arena.place_of(other), 10)


def test_functions_without_a_module_travel_too():
    assert again(lambda x: x + 1)(2) == 3


def test_what_cannot_be_pickled_is_an_error():
    with pytest.raises(TypeError, match="generator"):
        packet_of(x for x in "abc")

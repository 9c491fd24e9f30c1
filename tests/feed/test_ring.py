"""Pinned blocks: the same ones again and again, and none while a transfer out of it is under way."""

from __future__ import annotations

import numpy as np

from penstock.feed.ring import PinnedBlock, Ring, block_under


class Pins:
    def __init__(self):
        self.blocks = []

    def __call__(self, nbytes):
        buffer = np.empty(nbytes, np.uint8)
        self.blocks.append(PinnedBlock(buffer, buffer.ctypes.data, nbytes))
        return self.blocks[-1]


class Moving:
    over = False

    def query(self):
        return self.over


def test_a_block_is_used_again_once_its_array_and_all_views_are_gone():
    pins = Pins()
    ring = Ring(pins)
    array = ring.allocate(10_000)
    assert array.nbytes == 10_000
    view = array[100:200].view(np.float32)
    del array
    assert block_under(ring.allocate(10_000)) is pins.blocks[1]
    del view
    held = [ring.allocate(10_000), ring.allocate(9_000)]
    assert {id(block_under(each)) for each in held} == set(map(id, pins.blocks))
    assert len(pins.blocks) == 2


def test_a_block_is_not_used_again_while_it_is_copied_from():
    pins = Pins()
    ring = Ring(pins)
    moving, other = Moving(), Moving()
    block_under(ring.allocate(5000)).transfers += [moving, other]
    assert block_under(ring.allocate(5000)) is pins.blocks[1]
    moving.over = True
    assert not pins.blocks[0].is_free()
    other.over = True
    held = ring.allocate(5000), ring.allocate(5000)
    assert len(pins.blocks) == 2
    assert {id(block_under(each)) for each in held} == set(map(id, pins.blocks))


def test_a_block_serves_sizes_down_to_its_half():
    pins = Pins()
    ring = Ring(pins)
    ring.allocate(40_960)
    ring.allocate(20_480)
    assert len(pins.blocks) == 1
    ring.allocate(16_000)
    assert len(pins.blocks) == 2
    ring.allocate(0)
    assert pins.blocks[2].nbytes == 4096


def test_blocks_are_forgotten_when_too_many_are_idle(monkeypatch):
    monkeypatch.setattr("penstock.feed.ring._MOST_IDLE", 100_000)
    pins = Pins()
    ring = Ring(pins)
    held = [ring.allocate(60_000), ring.allocate(60_000)]
    block_under(held[0]).transfers.append(Moving())
    held.clear()
    ring.allocate(4096)
    assert len(ring._idle) == 2  # the one that is copied from, and the new one
    assert ring._idle[0] is pins.blocks[0]


def test_other_memory_is_no_block():
    assert block_under(np.zeros(3, np.uint8)) is None

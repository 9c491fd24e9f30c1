from __future__ import annotations

import os

import numpy as np
import pytest

from penstock.memory.arena import Arena, door_of, mapped_by
from penstock.memory.shared_file import SharedFile


@pytest.fixture
def arena():
    return Arena(SharedFile(1 << 16, 1 << 16))


def test_an_arena_is_mapped_once_by_its_path(arena):
    block = arena.block(1000)
    block[:] = 7
    mapping = mapped_by(door_of(arena))
    assert mapped_by(door_of(arena)) is mapping
    assert (mapping.part(arena.place_of(block), 1000) == 7).all()


def test_no_descriptor_stays_open_but_that_of_the_map(arena):
    mapped_by.cache_clear()
    before = len(os.listdir("/proc/self/fd"))
    mapped_by(door_of(arena))
    assert len(os.listdir("/proc/self/fd")) == before + 1


def test_another_file_with_the_same_path_is_refused(arena, tmp_path):
    door = door_of(arena)
    for size in (10, arena.size):
        (tmp_path / "file").write_bytes(bytes(size))
        with pytest.raises(FileNotFoundError, match="is another file here"):
            mapped_by(door._replace(path=str(tmp_path / "file")))
    with pytest.raises(FileNotFoundError):
        mapped_by(door._replace(path=str(tmp_path / "none")))


def test_the_key_is_never_given_out_as_a_block(arena):
    blocks = [block for _ in range(1000) if (block := arena.block(128)) is not None]
    for block in blocks:
        block[:] = 0
    assert mapped_by(door_of(arena)).part(0, 16).tobytes() == arena.key
    assert np.concatenate(blocks).nbytes == arena.size - 128

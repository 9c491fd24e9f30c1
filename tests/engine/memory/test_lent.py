from __future__ import annotations

import gc

import numpy as np
import pytest

from penstock.engine.memory.lent import WHOLE_PIECE, LentMemory
from penstock.engine.memory.shared_file import SharedFile


@pytest.fixture
def lent():
    file = SharedFile(1 << 14, 1 << 14)
    return LentMemory(7, file.fd, file.size)


def test_a_block_returns_with_its_last_view(lent):
    block = lent.array((1, 2, 0), 4096, 80)
    view = block.view(np.int64)[3:]
    view[:] = 5
    del block
    gc.collect()
    assert lent.returned() == []
    assert lent.part(4096, 80).view(np.int64).tolist() == [0] * 3 + [5] * 7
    del view
    gc.collect()
    assert lent.returned() == [(1, 2, 0)]
    assert lent.returned() == []


def test_a_piece_that_no_array_was_made_of_returns_whole(lent):
    lent.give_back((1, 3, WHOLE_PIECE))
    assert lent.returned() == [(1, 3, WHOLE_PIECE)]


def test_blocks_outlive_the_memory_they_are_of(lent):
    block = lent.array((1, 1, 0), 128, 8)
    block[:] = 9
    del lent
    gc.collect()
    assert block.tolist() == [9] * 8
